"""M3XU: a matrix unit whose 12-bit multipliers compute 16-bit formats, fp32 and complex fp32."""
