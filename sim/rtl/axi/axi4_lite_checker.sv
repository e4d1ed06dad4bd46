// Holds the pins of an AXI4-Lite subordinate, and of the program that drives it, to the rules of
// AXI4-Lite.
//
// A bit of `broken` for each rule says that the rule is broken in this cycle. The table below has
// the rules: numbers below FIRST_OF_SUBORDINATE are of the manager, the others of the subordinate.
// AW and W may come in any order. A response follows its requests by a cycle at least. EXOKAY does
// not exist.
//
// In a proof (yosys `read_verilog -sv -formal`, or slang with FORMAL defined), PROVE = 1 asserts
// the manager's rules and assumes the subordinate's, 2 the reverse, and 0 leaves `broken` to the
// proof. The rules on unknown values are left out.
//
// Parameters: widths; MOST: accesses of either kind that the subordinate may have accepted and not
// answered, at most 15.
module axi4_lite_checker #(
  parameter ADDR_BITS = 8,
  parameter DATA_BITS = 32,
  parameter MOST = 1,
  parameter PROVE = 0
) (
  input  wire clk,
  input  wire rst,
  input  wire awvalid,
  input  wire awready,
  input  wire [ADDR_BITS-1:0] awaddr,
  input  wire [2:0] awprot,
  input  wire wvalid,
  input  wire wready,
  input  wire [DATA_BITS-1:0] wdata,
  input  wire [DATA_BITS/8-1:0] wstrb,
  input  wire bvalid,
  input  wire bready,
  input  wire [1:0] bresp,
  input  wire arvalid,
  input  wire arready,
  input  wire [ADDR_BITS-1:0] araddr,
  input  wire [2:0] arprot,
  input  wire rvalid,
  input  wire rready,
  input  wire [DATA_BITS-1:0] rdata,
  input  wire [1:0] rresp,
  output wire [31:0] broken
);
  // Number and text of each rule.
  localparam AR_DROPPED = 0;  // ar took back its valid
  localparam AR_CHANGED = 1;  // ar changed before ready
  localparam AR_IN_RESET = 2;  // ar is valid in reset
  localparam AR_UNKNOWN = 3;  // ar has unknown bits
  localparam AW_DROPPED = 4;  // aw took back its valid
  localparam AW_CHANGED = 5;  // aw changed before ready
  localparam AW_IN_RESET = 6;  // aw is valid in reset
  localparam AW_UNKNOWN = 7;  // aw has unknown bits
  localparam W_DROPPED = 8;  // w took back its valid
  localparam W_CHANGED = 9;  // w changed before ready
  localparam W_IN_RESET = 10;  // w is valid in reset
  localparam W_UNKNOWN = 11;  // w has unknown bits
  localparam R_READY_UNKNOWN = 12;  // rready is unknown
  localparam B_READY_UNKNOWN = 13;  // bready is unknown
  localparam FIRST_OF_SUBORDINATE = 14;
  localparam R_DROPPED = 14;  // r took back its valid
  localparam R_CHANGED = 15;  // r changed before ready
  localparam R_IN_RESET = 16;  // r is valid in reset
  localparam R_UNKNOWN = 17;  // r has unknown bits
  localparam R_UNREQUESTED = 18;  // r is valid without a request
  localparam R_EXCLUSIVE = 19;  // rresp is EXOKAY
  localparam B_DROPPED = 20;  // b took back its valid
  localparam B_CHANGED = 21;  // b changed before ready
  localparam B_IN_RESET = 22;  // b is valid in reset
  localparam B_UNKNOWN = 23;  // b has unknown bits
  localparam B_UNREQUESTED = 24;  // b is valid without a request
  localparam B_EXCLUSIVE = 25;  // bresp is EXOKAY
  localparam AR_MOST = 26;  // arready accepts one read too many
  localparam AW_MOST = 27;  // awready accepts one write too many
  localparam W_MOST = 28;  // wready accepts the data of one write too many
  localparam AR_READY_UNKNOWN = 29;  // arready is unknown
  localparam AW_READY_UNKNOWN = 30;  // awready is unknown
  localparam W_READY_UNKNOWN = 31;  // wready is unknown

  wire ar_moves, aw_moves, w_moves, r_moves, b_moves;

  axi_channel_checker #(.BITS(ADDR_BITS + 3)) ar_channel (
    .clk(clk), .rst(rst), .valid(arvalid), .ready(arready), .payload({araddr, arprot}),
    .first(), .moves(ar_moves), .dropped(broken[AR_DROPPED]),
    .changed(broken[AR_CHANGED]), .in_reset(broken[AR_IN_RESET])
  );
  axi_channel_checker #(.BITS(ADDR_BITS + 3)) aw_channel (
    .clk(clk), .rst(rst), .valid(awvalid), .ready(awready), .payload({awaddr, awprot}),
    .first(), .moves(aw_moves), .dropped(broken[AW_DROPPED]),
    .changed(broken[AW_CHANGED]), .in_reset(broken[AW_IN_RESET])
  );
  axi_channel_checker #(.BITS(DATA_BITS + DATA_BITS / 8)) w_channel (
    .clk(clk), .rst(rst), .valid(wvalid), .ready(wready), .payload({wdata, wstrb}),
    .first(), .moves(w_moves), .dropped(broken[W_DROPPED]),
    .changed(broken[W_CHANGED]), .in_reset(broken[W_IN_RESET])
  );
  axi_channel_checker #(.BITS(DATA_BITS + 2)) r_channel (
    .clk(clk), .rst(rst), .valid(rvalid), .ready(rready), .payload({rdata, rresp}),
    .first(), .moves(r_moves), .dropped(broken[R_DROPPED]),
    .changed(broken[R_CHANGED]), .in_reset(broken[R_IN_RESET])
  );
  axi_channel_checker #(.BITS(2)) b_channel (
    .clk(clk), .rst(rst), .valid(bvalid), .ready(bready), .payload(bresp),
    .first(), .moves(b_moves), .dropped(broken[B_DROPPED]),
    .changed(broken[B_CHANGED]), .in_reset(broken[B_IN_RESET])
  );

  // Requests that were accepted and not answered.
  reg [3:0] reads = 4'd0;
  reg [3:0] addresses = 4'd0;
  reg [3:0] words = 4'd0;
  wire r_ends = r_moves & (reads != 4'd0);
  wire b_ends = b_moves & (addresses != 4'd0) & (words != 4'd0);
  wire ar_full = reads >= MOST && !r_ends;
  wire aw_full = addresses >= MOST && !b_ends;
  wire w_full = words >= MOST && !b_ends;

  assign broken[AR_MOST] = ar_moves & ar_full;
  assign broken[AW_MOST] = aw_moves & aw_full;
  assign broken[W_MOST] = w_moves & w_full;
  assign broken[R_UNREQUESTED] = rvalid & (reads == 4'd0) & ~rst;
  assign broken[B_UNREQUESTED] = bvalid & (addresses == 4'd0 || words == 4'd0) & ~rst;
  assign broken[R_EXCLUSIVE] = rvalid & (rresp == 2'd1) & ~rst;
  assign broken[B_EXCLUSIVE] = bvalid & (bresp == 2'd1) & ~rst;

  always @(posedge clk)
    if (rst) begin
      reads <= 4'd0;
      addresses <= 4'd0;
      words <= 4'd0;
    end else begin
      reads <= reads + {3'd0, ar_moves & ~ar_full} - {3'd0, r_ends};
      addresses <= addresses + {3'd0, aw_moves & ~aw_full} - {3'd0, b_ends};
      words <= words + {3'd0, w_moves & ~w_full} - {3'd0, b_ends};
    end

  // Unknown values, from the first reset on. Bytes without strobes may be unknown.

`ifdef YOSYS
  assign broken[AR_UNKNOWN] = 1'b0;
  assign broken[AW_UNKNOWN] = 1'b0;
  assign broken[W_UNKNOWN] = 1'b0;
  assign broken[R_UNKNOWN] = 1'b0;
  assign broken[B_UNKNOWN] = 1'b0;
  assign broken[AR_READY_UNKNOWN] = 1'b0;
  assign broken[AW_READY_UNKNOWN] = 1'b0;
  assign broken[W_READY_UNKNOWN] = 1'b0;
  assign broken[R_READY_UNKNOWN] = 1'b0;
  assign broken[B_READY_UNKNOWN] = 1'b0;
`else
  reg began = 1'b0;
  always @(posedge clk) if (rst === 1'b1) began <= 1'b1;
  wire known = began & ~rst;
  wire [DATA_BITS-1:0] w_written;
  genvar i;
  generate
    for (i = 0; i < DATA_BITS / 8; i = i + 1) begin : written
      assign w_written[8*i+:8] = wstrb[i] ? wdata[8*i+:8] : 8'd0;
    end
  endgenerate
  assign broken[AR_UNKNOWN] = known
    & (^arvalid === 1'bx | (arvalid & ^{araddr, arprot} === 1'bx));
  assign broken[AW_UNKNOWN] = known
    & (^awvalid === 1'bx | (awvalid & ^{awaddr, awprot} === 1'bx));
  assign broken[W_UNKNOWN] = known
    & (^wvalid === 1'bx | (wvalid & ^{w_written, wstrb} === 1'bx));
  assign broken[R_UNKNOWN] = known & (^rvalid === 1'bx | (rvalid & ^{rdata, rresp} === 1'bx));
  assign broken[B_UNKNOWN] = known & (^bvalid === 1'bx | (bvalid & ^bresp === 1'bx));
  assign broken[AR_READY_UNKNOWN] = known & (^arready === 1'bx);
  assign broken[AW_READY_UNKNOWN] = known & (^awready === 1'bx);
  assign broken[W_READY_UNKNOWN] = known & (^wready === 1'bx);
  assign broken[R_READY_UNKNOWN] = known & (^rready === 1'bx);
  assign broken[B_READY_UNKNOWN] = known & (^bready === 1'bx);
`endif

`ifdef FORMAL
  generate
    if (PROVE == 1) begin : prove_manager
      always @* assert (broken[FIRST_OF_SUBORDINATE-1:0] == 0);
      always @* assume (broken[31:FIRST_OF_SUBORDINATE] == 0);
    end
    if (PROVE == 2) begin : prove_subordinate
      always @* assume (broken[FIRST_OF_SUBORDINATE-1:0] == 0);
      always @* assert (broken[31:FIRST_OF_SUBORDINATE] == 0);
    end
  endgenerate
`endif
endmodule
