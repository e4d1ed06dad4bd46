// Holds the pins of an AXI4 manager, and of the memory behind it, to the rules of AXI4.
//
// `broken` has a bit for each rule. The table below has the rules: numbers below
// FIRST_OF_SUBORDINATE are of the manager, the others of the subordinate. The first broken rule stays
// in `sticky`, `rule` and `cycle` (since the last reset), over resets.
//
// Rules that are stricter than the standard: bursts are INCR, as wide as the bus, aligned and of
// ordinary memory (AxLOCK, AxPROT, AxQOS zero, AxCACHE as CACHE says); WVALID of a burst never
// rises before its AWVALID. A W that rises together with AW, or that waits for no AWREADY, is legal.
// EXOKAY is accepted from a memory, as our managers take it for OKAY.
//
// In a simulation everything happens at the clock's edge: `broken` is of the cycle that it ends, and
// where the macro AXI_RULES_BROKEN is defined, AXI_RULES_BROKEN(port, rules, araddr, awaddr, cycle)
// is called there with the rules that are broken and were not in the cycle before.
//
// The rules on unknown values are there where AXI_FOUR_STATES is defined: for a simulator that has
// them.
//
// In a proof (yosys `read_verilog -sv -formal`, or another tool with YOSYS and FORMAL defined)
// `broken` is of the cycle itself. PROVE = 1 asserts the manager's rules and assumes the
// subordinate's, 2 the reverse, and 0 leaves `broken` to the proof. Small limits keep the state
// small.
//
// Parameters: widths; READS, WRITES: most bursts in flight of all IDs, READS_PER_ID and
// WRITES_PER_ID: of one ID, 0: there must be none; READ_LONGEST, WRITE_LONGEST: beats of the longest
// burst; READ_IDS, WRITE_IDS: a bit for each ID that may occur. A burst is in flight from the
// transfer of its address to that of its last response.
module axi4_checker #(
  parameter ADDR_BITS = 32,
  parameter DATA_BITS = 64,
  parameter ID_BITS = 1,
  parameter CACHE = 3,
  parameter READS = 64,
  parameter READS_PER_ID = 16,
  parameter READ_LONGEST = 256,
  parameter [(1<<ID_BITS)-1:0] READ_IDS = ~0,
  parameter WRITES = 64,
  parameter WRITES_PER_ID = 16,
  parameter WRITE_LONGEST = 256,
  parameter [(1<<ID_BITS)-1:0] WRITE_IDS = ~0,
  parameter PROVE = 0
) (
  input  wire [7:0] port,
  input  wire clk,
  input  wire rst,
  input  wire awvalid,
  input  wire awready,
  input  wire [ID_BITS-1:0] awid,
  input  wire [ADDR_BITS-1:0] awaddr,
  input  wire [7:0] awlen,
  input  wire [2:0] awsize,
  input  wire [1:0] awburst,
  input  wire awlock,
  input  wire [3:0] awcache,
  input  wire [2:0] awprot,
  input  wire [3:0] awqos,
  input  wire wvalid,
  input  wire wready,
  input  wire [DATA_BITS-1:0] wdata,
  input  wire [DATA_BITS/8-1:0] wstrb,
  input  wire wlast,
  input  wire bvalid,
  input  wire bready,
  input  wire [ID_BITS-1:0] bid,
  input  wire [1:0] bresp,
  input  wire arvalid,
  input  wire arready,
  input  wire [ID_BITS-1:0] arid,
  input  wire [ADDR_BITS-1:0] araddr,
  input  wire [7:0] arlen,
  input  wire [2:0] arsize,
  input  wire [1:0] arburst,
  input  wire arlock,
  input  wire [3:0] arcache,
  input  wire [2:0] arprot,
  input  wire [3:0] arqos,
  input  wire rvalid,
  input  wire rready,
  input  wire [ID_BITS-1:0] rid,
  input  wire [DATA_BITS-1:0] rdata,
  input  wire [1:0] rresp,
  input  wire rlast,
  output reg  [49:0] broken
);
  // Number and text of each rule. ARADDR and AWADDR in a text stand for the address in that cycle.
  localparam AR_DROPPED = 0;  // ar took back its valid
  localparam AR_CHANGED = 1;  // ar changed before ready
  localparam AR_IN_RESET = 2;  // ar is valid in reset
  localparam AR_UNKNOWN = 3;  // ar has unknown bits
  localparam AR_BURST = 4;  // ar ARADDR is not INCR
  localparam AR_SIZE = 5;  // ar ARADDR has not the bus's width
  localparam AR_ALIGNED = 6;  // ar ARADDR is not a multiple of a beat
  localparam AR_PAGE = 7;  // ar ARADDR crosses 4 KiB
  localparam AR_ATTRIBUTES = 8;  // ar ARADDR has a wrong lock, cache, prot or qos
  localparam AR_LONGEST = 9;  // ar ARADDR is longer than any burst may be
  localparam AR_ID = 10;  // ar ARADDR has an ID that may not occur
  localparam AR_MOST = 11;  // ar ARADDR is one read in flight too many
  localparam AR_MOST_PER_ID = 12;  // ar ARADDR is one read in flight too many of its ID
  localparam AW_DROPPED = 13;  // aw took back its valid
  localparam AW_CHANGED = 14;  // aw changed before ready
  localparam AW_IN_RESET = 15;  // aw is valid in reset
  localparam AW_UNKNOWN = 16;  // aw has unknown bits
  localparam AW_BURST = 17;  // aw AWADDR is not INCR
  localparam AW_SIZE = 18;  // aw AWADDR has not the bus's width
  localparam AW_ALIGNED = 19;  // aw AWADDR is not a multiple of a beat
  localparam AW_PAGE = 20;  // aw AWADDR crosses 4 KiB
  localparam AW_ATTRIBUTES = 21;  // aw AWADDR has a wrong lock, cache, prot or qos
  localparam AW_LONGEST = 22;  // aw AWADDR is longer than any burst may be
  localparam AW_ID = 23;  // aw AWADDR has an ID that may not occur
  localparam AW_MOST = 24;  // aw AWADDR is one write in flight too many
  localparam AW_MOST_PER_ID = 25;  // aw AWADDR is one write in flight too many of its ID
  localparam W_DROPPED = 26;  // w took back its valid
  localparam W_CHANGED = 27;  // w changed before ready
  localparam W_IN_RESET = 28;  // w is valid in reset
  localparam W_UNKNOWN = 29;  // w has unknown bits
  localparam W_LEADS = 30;  // w is valid before the awvalid of its burst
  localparam W_LAST_EARLY = 31;  // wlast is 1 before the last beat
  localparam W_LAST_MISSING = 32;  // wlast is 0 at the last beat
  localparam R_READY_UNKNOWN = 33;  // rready is unknown
  localparam B_READY_UNKNOWN = 34;  // bready is unknown
  localparam FIRST_OF_SUBORDINATE = 35;
  localparam R_DROPPED = 35;  // r took back its valid
  localparam R_CHANGED = 36;  // r changed before ready
  localparam R_IN_RESET = 37;  // r is valid in reset
  localparam R_UNKNOWN = 38;  // r has unknown bits
  localparam R_UNREQUESTED = 39;  // r has an ID of which no read is in flight
  localparam R_LAST_EARLY = 40;  // rlast is 1 before the last beat
  localparam R_LAST_MISSING = 41;  // rlast is 0 at the last beat
  localparam B_DROPPED = 42;  // b took back its valid
  localparam B_CHANGED = 43;  // b changed before ready
  localparam B_IN_RESET = 44;  // b is valid in reset
  localparam B_UNKNOWN = 45;  // b has unknown bits
  localparam B_UNREQUESTED = 46;  // b has an ID of which no write is complete
  localparam AR_READY_UNKNOWN = 47;  // arready is unknown
  localparam AW_READY_UNKNOWN = 48;  // awready is unknown
  localparam W_READY_UNKNOWN = 49;  // wready is unknown

  localparam IDS = 1 << ID_BITS;
  localparam SIZE = $clog2(DATA_BITS / 8);
  localparam PAGE_BITS = ADDR_BITS < 12 ? ADDR_BITS : 12;
  localparam READ_BITS = READS_PER_ID > 1 ? $clog2(READS_PER_ID) : 1;
  localparam WRITE_BITS = WRITES_PER_ID > 1 ? $clog2(WRITES_PER_ID) : 1;
  localparam UNSENT_BITS = $clog2(WRITES + 2);

  // Transfers that wait for READY, and their payloads.
  reg was_reset = 1'b1;
  reg ar_held = 1'b0;
  reg aw_held = 1'b0;
  reg w_held = 1'b0;
  reg r_held = 1'b0;
  reg b_held = 1'b0;
  reg [ADDR_BITS-1:0] ar_address;
  reg [ADDR_BITS-1:0] aw_address;
  reg [ID_BITS+24:0] ar_kept;
  reg [ID_BITS+24:0] aw_kept;
  reg [DATA_BITS-1:0] w_data;
  reg [DATA_BITS/8:0] w_kept;
  reg [DATA_BITS-1:0] r_data;
  reg [ID_BITS+2:0] r_kept;
  reg [ID_BITS+1:0] b_kept;

  // Reads in flight. What memories hold of an ID counts while its bit of `read_live` is set.
  reg [31:0] reads = 32'd0;
  reg [IDS-1:0] read_live = {IDS{1'b0}};
  reg [READ_BITS:0] read_count [0:IDS-1];
  reg [READ_BITS-1:0] read_head [0:IDS-1];
  reg [7:0] read_beat [0:IDS-1];
  reg [7:0] read_length [0:(IDS<<READ_BITS)-1];

  // Writes whose data is not complete, or whose address is not accepted, in order; each from the
  // first cycle of its AWVALID on. Only the newest may wait for AWREADY.
  reg [UNSENT_BITS:0] unsent = 0;
  reg [UNSENT_BITS-1:0] unsent_head = 0;
  reg [ID_BITS-1:0] unsent_id [0:(1<<UNSENT_BITS)-1];
  reg [7:0] unsent_length [0:(1<<UNSENT_BITS)-1];
  reg [7:0] w_beat = 8'd0;
  reg w_done = 1'b0;

  // Writes in flight, and those of them that are complete and wait for their response.
  reg [31:0] writes = 32'd0;
  reg [IDS-1:0] write_live = {IDS{1'b0}};
  reg [IDS-1:0] complete_live = {IDS{1'b0}};
  reg [WRITE_BITS:0] write_count [0:IDS-1];
  reg [WRITE_BITS:0] complete_count [0:IDS-1];

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
  reg [49:0] last_broken = 50'd0;
  integer i;
`endif

  // What this cycle does.
  reg [ID_BITS+24:0] ar_rest;
  reg [ID_BITS+24:0] aw_rest;
  reg [31:0] beats;
  reg [31:0] bytes_before;
  reg [READ_BITS:0] ar_count;
  reg [READ_BITS-1:0] ar_tail;
  reg r_last, r_moves, r_ends, r_ends_ar, ar_full, ar_adds;
  reg [UNSENT_BITS:0] announced;
  reg [UNSENT_BITS-1:0] unsent_tail;
  reg [ID_BITS-1:0] w_id;
  reg [7:0] w_length;
  reg aw_adds, w_expected, w_last, w_moves, w_ends, write_complete;
  reg [WRITE_BITS:0] aw_count;
  reg [WRITE_BITS:0] w_count;
  reg b_ends, b_ends_aw, b_ends_w, aw_full, aw_counts;

  // In a simulation all is done at the clock's edge, and `broken` is of the cycle that it ends. In a
  // proof `broken` is of the cycle itself. Nothing but this block reads the state, so that it is
  // assigned at once.
`ifdef YOSYS
  always @* begin
`else
  always @(posedge clk) begin
`endif
    broken = 50'd0;
    beats = 32'd0;
    bytes_before = 32'd0;

    // Reads
    r_last = read_beat[rid] == read_length[{rid, read_head[rid]}];
    r_moves = rvalid & rready & read_live[rid];
    r_ends = r_moves & r_last;
    r_ends_ar = r_ends && rid == arid;
    ar_count = read_live[arid] ? read_count[arid] : 0;
    ar_tail = read_live[arid] ? read_head[arid] + ar_count[READ_BITS-1:0] : 0;
    ar_full = ar_count == READS_PER_ID && !r_ends_ar;
    ar_adds = arvalid & arready & ~ar_full;

    // Writes, the oldest that is not complete
    aw_adds = awvalid & ~aw_held & ~unsent[UNSENT_BITS];
    announced = unsent + {{UNSENT_BITS{1'b0}}, aw_adds};
    unsent_tail = unsent_head + unsent[UNSENT_BITS-1:0];
    w_id = unsent == 0 ? awid : unsent_id[unsent_head];
    w_length = unsent == 0 ? awlen : unsent_length[unsent_head];
    w_expected = announced != 0 && !w_done;
    w_last = w_beat == w_length;
    w_moves = wvalid & wready & w_expected;
    w_ends = w_moves & w_last;
    write_complete = (w_ends | w_done) && !(announced == 1 && awvalid && !awready);

    // Writes, responses
    b_ends = bvalid & bready & complete_live[bid];
    b_ends_aw = b_ends && bid == awid;
    b_ends_w = b_ends && bid == w_id;
    aw_count = write_live[awid] ? write_count[awid] : 0;
    w_count = complete_live[w_id] ? complete_count[w_id] : 0;
    aw_full = aw_count == WRITES_PER_ID && !b_ends_aw;
    aw_counts = awvalid & awready & ~aw_full;

    ar_rest = {arid, arlen, arsize, arburst, arlock, arcache, arprot, arqos};
    aw_rest = {awid, awlen, awsize, awburst, awlock, awcache, awprot, awqos};

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
      if (arvalid) begin
        beats = {24'd0, arlen} + 32'd1;
        bytes_before = {20'd0, araddr[PAGE_BITS-1:0]} >> SIZE << SIZE;
        broken[AR_CHANGED] = ar_held && (araddr != ar_address || ar_rest != ar_kept);
        broken[AR_BURST] = arburst != 2'd1;
        broken[AR_SIZE] = arsize != SIZE[2:0];
        broken[AR_ALIGNED] = araddr >> SIZE << SIZE != araddr;
        broken[AR_PAGE] = bytes_before + (beats << SIZE) > 32'd4096;
        broken[AR_ATTRIBUTES] = {arlock, arcache, arprot, arqos} != {1'b0, CACHE[3:0], 7'd0};
        broken[AR_LONGEST] = beats > READ_LONGEST;
        broken[AR_ID] = ~READ_IDS[arid];
        broken[AR_MOST] = arready && reads >= READS && !r_ends;
        broken[AR_MOST_PER_ID] = arready & ar_full;
      end
      if (awvalid) begin
        beats = {24'd0, awlen} + 32'd1;
        bytes_before = {20'd0, awaddr[PAGE_BITS-1:0]} >> SIZE << SIZE;
        broken[AW_CHANGED] = aw_held && (awaddr != aw_address || aw_rest != aw_kept);
        broken[AW_BURST] = awburst != 2'd1;
        broken[AW_SIZE] = awsize != SIZE[2:0];
        broken[AW_ALIGNED] = awaddr >> SIZE << SIZE != awaddr;
        broken[AW_PAGE] = bytes_before + (beats << SIZE) > 32'd4096;
        broken[AW_ATTRIBUTES] = {awlock, awcache, awprot, awqos} != {1'b0, CACHE[3:0], 7'd0};
        broken[AW_LONGEST] = beats > WRITE_LONGEST;
        broken[AW_ID] = ~WRITE_IDS[awid];
        broken[AW_MOST] = awready && writes >= WRITES && !b_ends;
        broken[AW_MOST_PER_ID] = awready & aw_full;
      end
      if (wvalid) begin
        broken[W_CHANGED] = w_held && (wdata != w_data || {wstrb, wlast} != w_kept);
        broken[W_LEADS] = ~w_expected;
        broken[W_LAST_EARLY] = w_expected & wlast & ~w_last;
        broken[W_LAST_MISSING] = w_expected & ~wlast & w_last;
      end
      if (rvalid) begin
        broken[R_CHANGED] = r_held && (rdata != r_data || {rid, rresp, rlast} != r_kept);
        broken[R_UNREQUESTED] = ~read_live[rid];
        broken[R_LAST_EARLY] = read_live[rid] & rlast & ~r_last;
        broken[R_LAST_MISSING] = read_live[rid] & ~rlast & r_last;
      end
      if (bvalid) begin
        broken[B_CHANGED] = b_held && {bid, bresp} != b_kept;
        broken[B_UNREQUESTED] = ~complete_live[bid];
      end
    end
`ifdef AXI_FOUR_STATES
    // Unknown values, from the first reset on. Data of beats without strobes, and of reads, may be
    // unknown.
    if (began & ~rst) begin
      w_written = 1'b0;
      for (i = 0; i < DATA_BITS / 8; i = i + 1) if (wstrb[i]) w_written = w_written ^ ^wdata[8*i+:8];
      broken[AR_UNKNOWN] = arvalid === 1'bx | (arvalid & ^{araddr, ar_rest} === 1'bx);
      broken[AW_UNKNOWN] = awvalid === 1'bx | (awvalid & ^{awaddr, aw_rest} === 1'bx);
      broken[W_UNKNOWN] = wvalid === 1'bx | (wvalid & ^{w_written, wstrb, wlast} === 1'bx);
      broken[R_UNKNOWN] = rvalid === 1'bx | (rvalid & ^{rid, rresp, rlast} === 1'bx);
      broken[B_UNKNOWN] = bvalid === 1'bx | (bvalid & ^{bid, bresp} === 1'bx);
      broken[AR_READY_UNKNOWN] = arready === 1'bx;
      broken[AW_READY_UNKNOWN] = awready === 1'bx;
      broken[W_READY_UNKNOWN] = wready === 1'bx;
      broken[R_READY_UNKNOWN] = rready === 1'bx;
      broken[B_READY_UNKNOWN] = bready === 1'bx;
    end
    began = began | rst;
`endif

`ifndef YOSYS
    // The first rule that was broken, the lowest if there were several, and the rules that are
    // broken and were not in the cycle before.
    if ((|broken) === 1'b1) begin
      if (!sticky) begin
        sticky = 1'b1;
        cycle = now;
        for (i = 49; i >= 0; i = i - 1) if (broken[i] === 1'b1) rule = i;
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
    if (ar_held) begin
      ar_address = araddr;
      ar_kept = ar_rest;
    end
    if (aw_held) begin
      aw_address = awaddr;
      aw_kept = aw_rest;
    end
    if (w_held) begin
      w_data = wdata;
      w_kept = {wstrb, wlast};
    end
    if (r_held) begin
      r_data = rdata;
      r_kept = {rid, rresp, rlast};
    end
    if (b_held) b_kept = {bid, bresp};
    if (rst) begin
      reads = 32'd0;
      read_live = {IDS{1'b0}};
      unsent = 0;
      unsent_head = 0;
      w_beat = 8'd0;
      w_done = 1'b0;
      writes = 32'd0;
      write_live = {IDS{1'b0}};
      complete_live = {IDS{1'b0}};
    end else begin
      // Reads
      reads = reads + {31'd0, ar_adds} - {31'd0, r_ends};
      if (r_moves) begin
        read_beat[rid] = r_last ? 8'd0 : read_beat[rid] + 8'd1;
        if (r_last) read_head[rid] = read_head[rid] + 1'b1;
        if (r_last && !(ar_adds && r_ends_ar)) begin
          if (read_count[rid] == 1) read_live[rid] = 1'b0;
          read_count[rid] = read_count[rid] - 1'b1;
        end
      end
      if (ar_adds) begin
        read_length[{arid, ar_tail}] = arlen;
        if (!r_ends_ar) read_count[arid] = ar_count + 1'b1;
        if (!read_live[arid]) begin
          read_head[arid] = 0;
          read_beat[arid] = 8'd0;
        end
        read_live[arid] = 1'b1;
      end

      // Writes, until they are complete
      unsent = announced - {{UNSENT_BITS{1'b0}}, write_complete};
      w_done = (w_ends | w_done) & ~write_complete;
      if (write_complete) unsent_head = unsent_head + 1'b1;
      if (w_moves) w_beat = w_last ? 8'd0 : w_beat + 8'd1;
      if (aw_adds) begin
        unsent_id[unsent_tail] = awid;
        unsent_length[unsent_tail] = awlen;
      end

      // Writes, until their response
      writes = writes + {31'd0, aw_counts} - {31'd0, b_ends};
      if (b_ends && !(aw_counts && b_ends_aw)) begin
        if (write_count[bid] == 1) write_live[bid] = 1'b0;
        write_count[bid] = write_count[bid] - 1'b1;
      end
      if (b_ends && !(write_complete && b_ends_w)) begin
        if (complete_count[bid] == 1) complete_live[bid] = 1'b0;
        complete_count[bid] = complete_count[bid] - 1'b1;
      end
      if (aw_counts && !b_ends_aw) begin
        write_count[awid] = aw_count + 1'b1;
        write_live[awid] = 1'b1;
      end
      if (write_complete && !b_ends_w) begin
        complete_count[w_id] = w_count + 1'b1;
        complete_live[w_id] = 1'b1;
      end
    end
  end

`ifdef FORMAL
  generate
    if (PROVE == 1) begin : prove_manager
      always @* assert (broken[FIRST_OF_SUBORDINATE-1:0] == 0);
      always @* assume (broken[49:FIRST_OF_SUBORDINATE] == 0);
    end
    if (PROVE == 2) begin : prove_subordinate
      always @* assume (broken[FIRST_OF_SUBORDINATE-1:0] == 0);
      always @* assert (broken[49:FIRST_OF_SUBORDINATE] == 0);
    end
  endgenerate
`endif
endmodule
