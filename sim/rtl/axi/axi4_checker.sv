// Holds the pins of an AXI4 manager, and of the memory behind it, to the rules of AXI4.
//
// A bit of `broken` for each rule says that the rule is broken in this cycle. The table below has
// the rules: numbers below FIRST_OF_SUBORDINATE are of the manager, the others of the subordinate.
// Rules that are stricter than the standard: bursts are INCR, as wide as the bus, aligned and of
// ordinary memory (AxLOCK, AxPROT, AxQOS zero, AxCACHE as CACHE says); WVALID of a burst never
// rises before its AWVALID. A W that rises together with AW, or that waits for no AWREADY, is legal.
// EXOKAY is accepted from a memory, as our managers take it for OKAY.
//
// In a proof (yosys `read_verilog -sv -formal`, or slang with FORMAL defined), PROVE = 1 asserts
// the manager's rules and assumes the subordinate's, 2 the reverse, and 0 leaves `broken` to the
// proof. Small PER_ID parameters keep the state small. The rules on unknown values are left out.
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
  output wire [49:0] broken
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

  // Handshakes

  wire ar_moves, aw_first, aw_moves, w_moves, r_moves, b_moves;

  axi_channel_checker #(.BITS(ID_BITS + ADDR_BITS + 25)) ar_channel (
    .clk(clk), .rst(rst), .valid(arvalid), .ready(arready),
    .payload({arid, araddr, arlen, arsize, arburst, arlock, arcache, arprot, arqos}),
    .first(), .moves(ar_moves), .dropped(broken[AR_DROPPED]),
    .changed(broken[AR_CHANGED]), .in_reset(broken[AR_IN_RESET])
  );
  axi_channel_checker #(.BITS(ID_BITS + ADDR_BITS + 25)) aw_channel (
    .clk(clk), .rst(rst), .valid(awvalid), .ready(awready),
    .payload({awid, awaddr, awlen, awsize, awburst, awlock, awcache, awprot, awqos}),
    .first(aw_first), .moves(aw_moves), .dropped(broken[AW_DROPPED]),
    .changed(broken[AW_CHANGED]), .in_reset(broken[AW_IN_RESET])
  );
  axi_channel_checker #(.BITS(DATA_BITS + DATA_BITS / 8 + 1)) w_channel (
    .clk(clk), .rst(rst), .valid(wvalid), .ready(wready), .payload({wdata, wstrb, wlast}),
    .first(), .moves(w_moves), .dropped(broken[W_DROPPED]),
    .changed(broken[W_CHANGED]), .in_reset(broken[W_IN_RESET])
  );
  axi_channel_checker #(.BITS(ID_BITS + DATA_BITS + 3)) r_channel (
    .clk(clk), .rst(rst), .valid(rvalid), .ready(rready), .payload({rid, rdata, rresp, rlast}),
    .first(), .moves(r_moves), .dropped(broken[R_DROPPED]),
    .changed(broken[R_CHANGED]), .in_reset(broken[R_IN_RESET])
  );
  axi_channel_checker #(.BITS(ID_BITS + 2)) b_channel (
    .clk(clk), .rst(rst), .valid(bvalid), .ready(bready), .payload({bid, bresp}),
    .first(), .moves(b_moves), .dropped(broken[B_DROPPED]),
    .changed(broken[B_CHANGED]), .in_reset(broken[B_IN_RESET])
  );

  // Bursts, each by itself

  // The bytes of a beat in its page that lie before it, and those of all beats.
  wire [31:0] ar_before = {20'd0, araddr[PAGE_BITS-1:0]} >> SIZE << SIZE;
  wire [31:0] aw_before = {20'd0, awaddr[PAGE_BITS-1:0]} >> SIZE << SIZE;
  wire [31:0] ar_beats = {24'd0, arlen} + 32'd1;
  wire [31:0] aw_beats = {24'd0, awlen} + 32'd1;
  wire ar_on = arvalid & ~rst;
  wire aw_on = awvalid & ~rst;

  assign broken[AR_BURST] = ar_on & (arburst != 2'd1);
  assign broken[AR_SIZE] = ar_on & (arsize != SIZE[2:0]);
  assign broken[AR_ALIGNED] = ar_on & (araddr >> SIZE << SIZE != araddr);
  assign broken[AR_PAGE] = ar_on & (ar_before + (ar_beats << SIZE) > 32'd4096);
  assign broken[AR_ATTRIBUTES] = ar_on & (arlock | (arcache != CACHE) | (arprot != 0) | (arqos != 0));
  assign broken[AR_LONGEST] = ar_on & (ar_beats > READ_LONGEST);
  assign broken[AR_ID] = ar_on & ~READ_IDS[arid];
  assign broken[AW_BURST] = aw_on & (awburst != 2'd1);
  assign broken[AW_SIZE] = aw_on & (awsize != SIZE[2:0]);
  assign broken[AW_ALIGNED] = aw_on & (awaddr >> SIZE << SIZE != awaddr);
  assign broken[AW_PAGE] = aw_on & (aw_before + (aw_beats << SIZE) > 32'd4096);
  assign broken[AW_ATTRIBUTES] = aw_on & (awlock | (awcache != CACHE) | (awprot != 0) | (awqos != 0));
  assign broken[AW_LONGEST] = aw_on & (aw_beats > WRITE_LONGEST);
  assign broken[AW_ID] = aw_on & ~WRITE_IDS[awid];

  // Reads in flight. What memories hold of an ID counts while its bit of `read_live` is set.

  localparam READ_SLOT_BITS = READS_PER_ID > 1 ? $clog2(READS_PER_ID) : 1;

  reg [31:0] reads = 32'd0;
  reg [IDS-1:0] read_live = {IDS{1'b0}};
  reg [READ_SLOT_BITS:0] read_count [0:IDS-1];
  reg [READ_SLOT_BITS-1:0] read_head [0:IDS-1];
  reg [7:0] read_beat [0:IDS-1];
  reg [7:0] read_length [0:(IDS<<READ_SLOT_BITS)-1];

  wire [READ_SLOT_BITS:0] ar_count = read_live[arid] ? read_count[arid] : 0;
  wire [READ_SLOT_BITS-1:0] ar_tail = read_live[arid]
    ? read_head[arid] + ar_count[READ_SLOT_BITS-1:0] : 0;
  wire r_expected = rvalid & read_live[rid] & ~rst;
  wire r_last = read_beat[rid] == read_length[{rid, read_head[rid]}];
  wire r_moves_expected = r_moves & read_live[rid];
  wire r_ends = r_moves_expected & r_last;
  wire r_ends_ar = r_ends & (rid == arid);
  wire ar_full = ar_count == READS_PER_ID && !r_ends_ar;
  wire ar_adds = ar_moves & ~ar_full;

  assign broken[AR_MOST] = ar_moves & (reads >= READS) & ~r_ends;
  assign broken[AR_MOST_PER_ID] = ar_moves & ar_full;
  assign broken[R_UNREQUESTED] = rvalid & ~read_live[rid] & ~rst;
  assign broken[R_LAST_EARLY] = r_expected & rlast & ~r_last;
  assign broken[R_LAST_MISSING] = r_expected & ~rlast & r_last;

  always @(posedge clk)
    if (rst) begin
      reads <= 32'd0;
      read_live <= {IDS{1'b0}};
    end else begin
      reads <= reads + {31'd0, ar_adds} - {31'd0, r_ends};
      if (r_moves_expected) begin
        read_beat[rid] <= r_last ? 8'd0 : read_beat[rid] + 8'd1;
        if (r_last) read_head[rid] <= read_head[rid] + 1'b1;
        if (r_last && !(ar_adds && rid == arid)) begin
          read_count[rid] <= read_count[rid] - 1'b1;
          if (read_count[rid] == 1) read_live[rid] <= 1'b0;
        end
      end
      if (ar_adds) begin
        read_length[{arid, ar_tail}] <= arlen;
        read_live[arid] <= 1'b1;
        if (!r_ends_ar) read_count[arid] <= ar_count + 1'b1;
        if (!read_live[arid]) begin
          read_head[arid] <= 0;
          read_beat[arid] <= 8'd0;
        end
      end
    end

  // Writes whose data is not complete, or whose address is not accepted, in order; each from the
  // first cycle of its AWVALID on. Only the newest may wait for AWREADY.

  localparam UNSENT_BITS = $clog2(WRITES + 2);

  reg [UNSENT_BITS:0] unsent = 0;
  reg [UNSENT_BITS-1:0] unsent_head = 0;
  reg [ID_BITS-1:0] unsent_id [0:(1<<UNSENT_BITS)-1];
  reg [7:0] unsent_length [0:(1<<UNSENT_BITS)-1];
  reg [7:0] w_beat = 8'd0;
  reg w_done = 1'b0;

  wire aw_adds = aw_first & ~unsent[UNSENT_BITS];
  wire w_none = unsent == 0;
  wire [UNSENT_BITS:0] announced = unsent + aw_adds;
  wire [ID_BITS-1:0] w_id = w_none ? awid : unsent_id[unsent_head];
  wire [7:0] w_length = w_none ? awlen : unsent_length[unsent_head];
  wire w_expected = (~w_none | aw_adds) & ~w_done;
  wire w_last = w_beat == w_length;
  wire w_ends = w_moves & w_expected & w_last;
  wire w_unaccepted = announced == 1 && awvalid && !awready;
  wire write_complete = (w_ends | w_done) & ~w_unaccepted;
  wire [UNSENT_BITS-1:0] unsent_tail = unsent_head + unsent[UNSENT_BITS-1:0];

  assign broken[W_LEADS] = wvalid & ~w_expected & ~rst;
  assign broken[W_LAST_EARLY] = wvalid & w_expected & wlast & ~w_last & ~rst;
  assign broken[W_LAST_MISSING] = wvalid & w_expected & ~wlast & w_last & ~rst;

  always @(posedge clk)
    if (rst) begin
      unsent <= 0;
      unsent_head <= 0;
      w_beat <= 8'd0;
      w_done <= 1'b0;
    end else begin
      unsent <= announced - write_complete;
      w_done <= (w_ends | w_done) & ~write_complete;
      if (write_complete) unsent_head <= unsent_head + 1'b1;
      if (w_moves & w_expected) w_beat <= w_last ? 8'd0 : w_beat + 8'd1;
      if (aw_adds) begin
        unsent_id[unsent_tail] <= awid;
        unsent_length[unsent_tail] <= awlen;
      end
    end

  // Writes in flight, and those that are complete and wait for their response.

  localparam WRITE_BITS = WRITES_PER_ID > 1 ? $clog2(WRITES_PER_ID) : 1;

  reg [31:0] writes = 32'd0;
  reg [IDS-1:0] write_live = {IDS{1'b0}};
  reg [IDS-1:0] complete_live = {IDS{1'b0}};
  reg [WRITE_BITS:0] write_count [0:IDS-1];
  reg [WRITE_BITS:0] complete_count [0:IDS-1];

  wire [WRITE_BITS:0] aw_count = write_live[awid] ? write_count[awid] : 0;
  wire [WRITE_BITS:0] w_complete = complete_live[w_id] ? complete_count[w_id] : 0;
  wire b_ends = b_moves & complete_live[bid];
  wire b_ends_aw = b_ends & (bid == awid);
  wire b_ends_w = b_ends & (bid == w_id);
  wire aw_full = aw_count == WRITES_PER_ID && !b_ends_aw;
  wire aw_counts = aw_moves & ~aw_full;

  assign broken[AW_MOST] = aw_moves & (writes >= WRITES) & ~b_ends;
  assign broken[AW_MOST_PER_ID] = aw_moves & aw_full;
  assign broken[B_UNREQUESTED] = bvalid & ~complete_live[bid] & ~rst;

  always @(posedge clk)
    if (rst) begin
      writes <= 32'd0;
      write_live <= {IDS{1'b0}};
      complete_live <= {IDS{1'b0}};
    end else begin
      writes <= writes + {31'd0, aw_counts} - {31'd0, b_ends};
      if (b_ends && !(aw_counts && bid == awid)) begin
        write_count[bid] <= write_count[bid] - 1'b1;
        if (write_count[bid] == 1) write_live[bid] <= 1'b0;
      end
      if (b_ends && !(write_complete && bid == w_id)) begin
        complete_count[bid] <= complete_count[bid] - 1'b1;
        if (complete_count[bid] == 1) complete_live[bid] <= 1'b0;
      end
      if (aw_counts && !b_ends_aw) begin
        write_count[awid] <= aw_count + 1'b1;
        write_live[awid] <= 1'b1;
      end
      if (write_complete && !b_ends_w) begin
        complete_count[w_id] <= w_complete + 1'b1;
        complete_live[w_id] <= 1'b1;
      end
    end

  // Unknown values, from the first reset on. Data of beats without strobes, and of reads, may be
  // unknown.

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
  assign broken[AR_UNKNOWN] = known & (^arvalid === 1'bx | (arvalid & ^{arid, araddr, arlen,
    arsize, arburst, arlock, arcache, arprot, arqos} === 1'bx));
  assign broken[AW_UNKNOWN] = known & (^awvalid === 1'bx | (awvalid & ^{awid, awaddr, awlen,
    awsize, awburst, awlock, awcache, awprot, awqos} === 1'bx));
  assign broken[W_UNKNOWN] = known & (^wvalid === 1'bx
    | (wvalid & ^{w_written, wstrb, wlast} === 1'bx));
  assign broken[R_UNKNOWN] = known & (^rvalid === 1'bx | (rvalid & ^{rid, rresp, rlast} === 1'bx));
  assign broken[B_UNKNOWN] = known & (^bvalid === 1'bx | (bvalid & ^{bid, bresp} === 1'bx));
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
      always @* assume (broken[49:FIRST_OF_SUBORDINATE] == 0);
    end
    if (PROVE == 2) begin : prove_subordinate
      always @* assume (broken[FIRST_OF_SUBORDINATE-1:0] == 0);
      always @* assert (broken[49:FIRST_OF_SUBORDINATE] == 0);
    end
  endgenerate
`endif
endmodule
