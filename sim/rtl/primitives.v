// Behavioural models of the primitives that stand between a board's pins and an accelerator.
//
// Buffers pass their signal. A phase-locked loop passes its reference, at all outputs: a simulation
// counts cycles, not time. It is locked after 16 cycles. Registers at pins begin with zero.

module tilewright_locks (input clk, output locked);
  reg [4:0] count = 0;
  assign locked = count[4];
  always @(posedge clk) if (!locked) count <= count + 5'd1;
endmodule

// ECP5

module IB (input I, output O);
  assign O = I;
endmodule

module OBZ (input I, input T, output O);
  assign O = T ? 1'bz : I;
endmodule

module BB (input I, input T, output O, inout B);
  assign B = T ? 1'bz : I;
  assign O = B;
endmodule

module OFS1P3DX (input D, SP, SCLK, CD, output reg Q = 0);
  always @(posedge SCLK) if (SP) Q <= D && !CD;
endmodule

module IFS1P3DX (input D, SP, SCLK, CD, output reg Q = 0);
  always @(posedge SCLK) if (SP) Q <= D && !CD;
endmodule

module FD1S3AX (input D, CK, output reg Q = 0);
  always @(posedge CK) Q <= D;
endmodule

module ODDRX1F (input D0, D1, SCLK, RST, output Q);
  reg first = 0, second = 0;
  assign Q = SCLK ? first : second;
  always @(posedge SCLK) {first, second} <= RST ? 2'b00 : {D0, D1};
endmodule

module EHXPLLL #(
  parameter PLLRST_ENA = "DISABLED", INTFB_WAKE = "DISABLED", STDBY_ENABLE = "DISABLED",
  parameter DPHASE_SOURCE = "DISABLED", OUTDIVIDER_MUXA = "DIVA", FEEDBK_PATH = "CLKOP",
  parameter CLKOP_ENABLE = "ENABLED",
  parameter CLKI_DIV = 1, CLKFB_DIV = 1, CLKOP_DIV = 1, CLKOP_CPHASE = 0, CLKOP_FPHASE = 0,
  parameter CLKOS_ENABLE = "DISABLED", CLKOS_DIV = 1, CLKOS_CPHASE = 0, CLKOS_FPHASE = 0
) (
  input CLKI, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG,
  input PLLWAKESYNC, ENCLKOP,
  output CLKOP, CLKOS, LOCK
);
  assign CLKOP = CLKI;
  assign CLKOS = CLKI;
  tilewright_locks locks (.clk(CLKI), .locked(LOCK));
endmodule

// iCE40

module SB_IO #(
  parameter IO_STANDARD = "SB_LVCMOS", PULLUP = 0,
  parameter [5:0] PIN_TYPE = 6'd0
) (
  inout PACKAGE_PIN, input D_OUT_0, OUTPUT_ENABLE, output D_IN_0
);
  // Bits 5 and 4: no output, always, or when enabled.
  wire drives = PIN_TYPE[5:4] == 2'd1 || (PIN_TYPE[5:4] == 2'd2 && OUTPUT_ENABLE);
  assign PACKAGE_PIN = drives ? D_OUT_0 : 1'bz;
  assign D_IN_0 = PACKAGE_PIN;
endmodule

module SB_GB_IO #(
  parameter IO_STANDARD = "SB_LVCMOS", PULLUP = 0,
  parameter [5:0] PIN_TYPE = 6'd0
) (
  inout PACKAGE_PIN, output GLOBAL_BUFFER_OUTPUT
);
  assign GLOBAL_BUFFER_OUTPUT = PACKAGE_PIN;
endmodule

module SB_PLL40_CORE #(
  parameter FEEDBACK_PATH = "SIMPLE", PLLOUT_SELECT = "GENCLK",
  parameter DIVR = 0, DIVF = 0, DIVQ = 1, FILTER_RANGE = 1
) (
  input REFERENCECLK, RESETB, BYPASS, output PLLOUTGLOBAL, LOCK
);
  assign PLLOUTGLOBAL = REFERENCECLK;
  tilewright_locks locks (.clk(REFERENCECLK), .locked(LOCK));
endmodule

// Xilinx 7 series

module IBUF (input I, output O);
  assign O = I;
endmodule

module OBUFT (input I, input T, output O);
  assign O = T ? 1'bz : I;
endmodule

module PLLE2_BASE #(
  parameter CLKFBOUT_MULT = 1, CLKOUT0_DIVIDE = 1, DIVCLK_DIVIDE = 1,
  parameter real CLKIN1_PERIOD = 0.0
) (
  input CLKIN1, CLKFBIN, RST, PWRDWN, output CLKFBOUT, CLKOUT0, LOCKED
);
  assign CLKFBOUT = CLKIN1;
  assign CLKOUT0 = CLKIN1;
  tilewright_locks locks (.clk(CLKIN1), .locked(LOCKED));
endmodule
