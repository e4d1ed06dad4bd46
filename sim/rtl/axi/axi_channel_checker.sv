// Holds one AXI channel to the rule of the handshake: what is offered stays until it is taken, and
// nothing is offered in reset.
//
// Outputs, in the cycle in question: `first`, the first cycle of a transfer; `moves`, its last;
// `dropped`, VALID fell before READY; `changed`, the payload changed before READY; `in_reset`,
// VALID is high in the second or a later cycle of a reset, or in the first cycle after it.
module axi_channel_checker #(
  parameter BITS = 1
) (
  input  wire clk,
  input  wire rst,
  input  wire valid,
  input  wire ready,
  input  wire [BITS-1:0] payload,
  output wire first,
  output wire moves,
  output wire dropped,
  output wire changed,
  output wire in_reset
);
  reg held = 1'b0;
  reg was_reset = 1'b1;
  reg [BITS-1:0] kept;

  always @(posedge clk) begin
    held <= valid & ~ready & ~rst;
    was_reset <= rst;
    if (valid & ~held) kept <= payload;
  end

  assign first = valid & ~held & ~rst;
  assign moves = valid & ready & ~rst;
  assign dropped = held & ~valid & ~rst;
  assign changed = held & valid & ~rst & (payload != kept);
  assign in_reset = was_reset & valid;
endmodule
