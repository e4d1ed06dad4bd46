// Keeps the first rule that a checker found broken: `sticky` from then on, over resets, with the
// rule's number, the lowest if there were several, and the cycle since the last reset.
//
// `fresh` has the rules that are broken in this cycle and were not in the cycle before.
module axi_verdict #(
  parameter RULES = 1
) (
  input  wire clk,
  input  wire rst,
  input  wire [RULES-1:0] broken,
  output wire [RULES-1:0] fresh
);
  reg [RULES-1:0] last = {RULES{1'b0}};
  reg sticky = 1'b0;
  reg [7:0] rule = 8'd0;
  reg [63:0] cycle = 64'd0;
  reg [63:0] now = 64'd0;
  integer i;

  always @(posedge clk) begin
    last <= broken;
    now <= rst ? 64'd0 : now + 64'd1;
    if (!sticky && (|broken) === 1'b1) begin
      sticky <= 1'b1;
      cycle <= now;
      for (i = RULES - 1; i >= 0; i = i - 1) if (broken[i] === 1'b1) rule <= i[7:0];
    end
  end

  assign fresh = broken & ~last;
endmodule
