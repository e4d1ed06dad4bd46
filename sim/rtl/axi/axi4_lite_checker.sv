// Holds the pins of an AXI4-Lite subordinate, and of the program that drives it, to the rules of
// AXI4-Lite.
//
// `broken`, `sticky`, `rule`, `cycle`, `port` and PROVE are as in axi4_checker. AW and W may come in
// any order. A response follows its requests by a cycle at least. EXOKAY does not exist.
//
// Parameters: widths; MOST: accesses of either kind that the subordinate may have accepted and not
// answered, at most 15.
module axi4_lite_checker #(
  parameter ADDR_BITS = 8,
  parameter DATA_BITS = 32,
  parameter MOST = 1,
  parameter PROVE = 0
) (
  input  wire [7:0] port,
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
  output reg  [31:0] broken
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

  reg was_reset = 1'b1;
  reg ar_held = 1'b0;
  reg aw_held = 1'b0;
  reg w_held = 1'b0;
  reg r_held = 1'b0;
  reg b_held = 1'b0;
  reg [ADDR_BITS+2:0] ar_kept;
  reg [ADDR_BITS+2:0] aw_kept;
  reg [DATA_BITS+DATA_BITS/8-1:0] w_kept;
  reg [DATA_BITS+1:0] r_kept;
  reg [1:0] b_kept;

  // Requests that were accepted and not answered.
  reg [3:0] reads = 4'd0;
  reg [3:0] addresses = 4'd0;
  reg [3:0] words = 4'd0;

`ifdef AXI_FOUR_STATES
  reg began = 1'b0;
  reg w_written;
`endif
`ifndef YOSYS
  // What was broken.
  /* verilator tracing_on */
  reg sticky = 1'b0;
  reg [31:0] rule = 32'd0;
  reg [63:0] cycle = 64'd0;
  /* verilator tracing_off */
  reg [63:0] now = 64'd0;
  reg [31:0] last_broken = 32'd0;
  integer i;
`endif

  // What this cycle does.
  reg r_ends, b_ends, ar_full, aw_full, w_full;

`ifdef YOSYS
  always @* begin
`else
  always @(posedge clk) begin
`endif
    broken = 32'd0;
    r_ends = rvalid & rready & (reads != 4'd0);
    b_ends = bvalid & bready & (addresses != 4'd0) & (words != 4'd0);
    ar_full = reads >= MOST && !r_ends;
    aw_full = addresses >= MOST && !b_ends;
    w_full = words >= MOST && !b_ends;
    if (was_reset) begin
      broken[AR_IN_RESET] = arvalid;
      broken[AW_IN_RESET] = awvalid;
      broken[W_IN_RESET] = wvalid;
      broken[R_IN_RESET] = rvalid;
      broken[B_IN_RESET] = bvalid;
    end
    if (!rst) begin
      broken[AR_DROPPED] = ar_held & ~arvalid;
      broken[AW_DROPPED] = aw_held & ~awvalid;
      broken[W_DROPPED] = w_held & ~wvalid;
      broken[R_DROPPED] = r_held & ~rvalid;
      broken[B_DROPPED] = b_held & ~bvalid;
      broken[AR_CHANGED] = arvalid && ar_held && {araddr, arprot} != ar_kept;
      broken[AW_CHANGED] = awvalid && aw_held && {awaddr, awprot} != aw_kept;
      broken[W_CHANGED] = wvalid && w_held && {wdata, wstrb} != w_kept;
      broken[R_CHANGED] = rvalid && r_held && {rdata, rresp} != r_kept;
      broken[B_CHANGED] = bvalid && b_held && bresp != b_kept;
      broken[AR_MOST] = arvalid & arready & ar_full;
      broken[AW_MOST] = awvalid & awready & aw_full;
      broken[W_MOST] = wvalid & wready & w_full;
      broken[R_UNREQUESTED] = rvalid && reads == 4'd0;
      broken[B_UNREQUESTED] = bvalid && (addresses == 4'd0 || words == 4'd0);
      broken[R_EXCLUSIVE] = rvalid && rresp == 2'd1;
      broken[B_EXCLUSIVE] = bvalid && bresp == 2'd1;
    end
`ifdef AXI_FOUR_STATES
    // Unknown values, from the first reset on. Bytes without strobes may be unknown.
    if (began & ~rst) begin
      w_written = 1'b0;
      for (i = 0; i < DATA_BITS / 8; i = i + 1) if (wstrb[i]) w_written = w_written ^ ^wdata[8*i+:8];
      broken[AR_UNKNOWN] = arvalid === 1'bx | (arvalid & ^{araddr, arprot} === 1'bx);
      broken[AW_UNKNOWN] = awvalid === 1'bx | (awvalid & ^{awaddr, awprot} === 1'bx);
      broken[W_UNKNOWN] = wvalid === 1'bx | (wvalid & ^{w_written, wstrb} === 1'bx);
      broken[R_UNKNOWN] = rvalid === 1'bx | (rvalid & ^{rdata, rresp} === 1'bx);
      broken[B_UNKNOWN] = bvalid === 1'bx | (bvalid & ^bresp === 1'bx);
      broken[AR_READY_UNKNOWN] = arready === 1'bx;
      broken[AW_READY_UNKNOWN] = awready === 1'bx;
      broken[W_READY_UNKNOWN] = wready === 1'bx;
      broken[R_READY_UNKNOWN] = rready === 1'bx;
      broken[B_READY_UNKNOWN] = bready === 1'bx;
    end
    began = began | rst;
`endif

`ifndef YOSYS
    if ((|broken) === 1'b1) begin
      if (!sticky) begin
        sticky = 1'b1;
        cycle = now;
        for (i = 31; i >= 0; i = i - 1) if (broken[i] === 1'b1) rule = i;
      end
`ifdef AXI_RULES_BROKEN
      if (|(broken & ~last_broken)) begin
        `AXI_RULES_BROKEN(port, broken & ~last_broken, araddr, awaddr, now)
      end
`endif
    end
    last_broken = broken;
    now = rst ? 64'd0 : now + 64'd1;
`else
  end
  always @(posedge clk) begin
`endif
    was_reset = rst;
    ar_held = arvalid & ~arready & ~rst;
    aw_held = awvalid & ~awready & ~rst;
    w_held = wvalid & ~wready & ~rst;
    r_held = rvalid & ~rready & ~rst;
    b_held = bvalid & ~bready & ~rst;
    if (ar_held) ar_kept = {araddr, arprot};
    if (aw_held) aw_kept = {awaddr, awprot};
    if (w_held) w_kept = {wdata, wstrb};
    if (r_held) r_kept = {rdata, rresp};
    if (b_held) b_kept = bresp;
    if (rst) begin
      reads = 4'd0;
      addresses = 4'd0;
      words = 4'd0;
    end else begin
      reads = reads + {3'd0, arvalid & arready & ~ar_full} - {3'd0, r_ends};
      addresses = addresses + {3'd0, awvalid & awready & ~aw_full} - {3'd0, b_ends};
      words = words + {3'd0, wvalid & wready & ~w_full} - {3'd0, b_ends};
    end
  end

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
