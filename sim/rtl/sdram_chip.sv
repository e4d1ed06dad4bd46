// A chip of single data rate SDRAM that checks every command, in picoseconds.
//
// One clock drives the chip and its controller here. The chip samples the pins of a controller's
// cycle `phase` after its begin; `dq_i` of a cycle is what the controller's next edge samples: a
// word that was read if it is stable there, else a pattern. Bursts have one word; there is neither automatic
// precharge nor self refresh nor power down.
//
// With `power_up` time begins anew, and all but the words is forgotten.
//
// `rule` is the first rule that was broken, 0 if none was; `broken` counts.
typedef struct packed {
  longint period, phase; // of the clock, and from the controller's to the chip's
  longint delay_least, delay_most, skew; // from the controller's pins to the chip and back
  longint t_rcd, t_rp, t_rc, t_ras, t_ras_most, t_rfc, t_rrd, t_wr, t_mrd, t_power_up;
  longint c_rrd, c_wr, c_mrd; // the same, where the data sheet gives cycles
  longint t_ck2, t_ck3, t_ac2, t_ac3, t_oh, t_hz, t_is, t_ih;
  longint t_window, refreshes; // so many refreshes in this time
  longint first_refreshes; // before the first access
} sdram_times_t;

module sdram_chip #(
  parameter int BANK_BITS = 2,
  parameter int ROW_BITS = 13,
  parameter int COLUMN_BITS = 9,
  parameter int ADDRESS_BITS = 13,
  parameter int WORD_BYTES = 2,
  parameter int REFRESHES_MOST = 8192
) (
  input  logic clk,
  input  logic power_up,
  input  sdram_times_t times, // steady between one power-up and the next
  input  logic cke,
  input  logic cs_n,
  input  logic ras_n,
  input  logic cas_n,
  input  logic we_n,
  input  logic [BANK_BITS-1:0] ba,
  input  logic [ADDRESS_BITS-1:0] a,
  input  logic [WORD_BYTES-1:0] dqm,
  input  logic [8*WORD_BYTES-1:0] dq_o,
  input  logic dq_oe,
  output logic [8*WORD_BYTES-1:0] dq_i,
  output logic dq_drives, // `dq_i` is a word that was read
  output logic [7:0] rule,
  output logic [31:0] broken,
  output logic [31:0] refreshes,
  output logic [31:0] words
);
  // Rules, with the text of each.
  localparam bit [7:0] POWER_UP = 1; // a command before the end of power-up
  localparam bit [7:0] MASK = 2; // DQM low before the mode was set
  localparam bit [7:0] NOT_CLOSED = 3; // the first command was not to precharge all banks
  localparam bit [7:0] FEW_REFRESHES = 4; // too few refreshes before the first access
  localparam bit [7:0] NO_MODE = 5; // an access before the mode was set
  localparam bit [7:0] MODE = 6; // a mode that the chip, or this model, does not have
  localparam bit [7:0] CLOCK = 7; // a clock too fast for the CAS latency
  localparam bit [7:0] UNKNOWN = 8; // a command that this model does not have
  localparam bit [7:0] OPEN = 9; // a row opened in a bank with an open row
  localparam bit [7:0] CLOSED = 10; // an access to a bank without an open row
  localparam bit [7:0] NOT_ALL_CLOSED = 11; // a refresh or mode while a row is open
  localparam bit [7:0] RCD = 12; // tRCD, from a row's opening to an access
  localparam bit [7:0] RP = 13; // tRP, from a precharge to the next command
  localparam bit [7:0] RC = 14; // tRC, between a bank's openings
  localparam bit [7:0] RAS = 15; // tRAS, from a row's opening to its precharge
  localparam bit [7:0] RAS_MOST = 16; // tRAS, a row open for too long
  localparam bit [7:0] RFC = 17; // tRFC, from a refresh to the next command
  localparam bit [7:0] RRD = 18; // tRRD, between openings of two banks
  localparam bit [7:0] WR = 19; // tWR, from a written word to the precharge
  localparam bit [7:0] MRD = 20; // tMRD, from the mode to the next command
  localparam bit [7:0] LATE = 21; // no refresh for two intervals
  localparam bit [7:0] WINDOW = 22; // a row not refreshed for 64 ms
  localparam bit [7:0] CONTENTION = 23; // data pins driven from both sides
  localparam bit [7:0] NOT_DRIVEN = 24; // a write whose word is not driven
  localparam bit [7:0] SETUP = 25; // inputs that change too near to the clock's edge
  localparam bit [7:0] ADDRESS = 26; // a column beyond the row

  localparam int BANKS = 1 << BANK_BITS;
  localparam int WORD = 8 * WORD_BYTES;
  localparam int AGES = 8; // of reads that still matter, in cycles
  localparam longint LONG_AGO = -64'sd1000000000000;
  localparam bit [WORD-1:0] PATTERN = WORD'(32'h5A5A5A5A);

  bit [WORD-1:0] memory [(1 << (BANK_BITS + ROW_BITS + COLUMN_BITS))-1:0];
  bit [BANKS-1:0] open;
  bit [ROW_BITS-1:0] row [BANKS];
  longint now; // of the controller's edge with which the pins took their levels
  longint opened [BANKS];
  longint closed [BANKS];
  longint written [BANKS];
  longint refreshed, mode_set, opened_any, first_refresh;
  longint history [REFRESHES_MOST];
  int latency;
  bit has_mode, was_closed;
  longint count, interval;
  int turn; // of the next refresh in the history
  // Reads by their age: 0 is that of this cycle.
  bit reads [AGES];
  bit [WORD-1:0] read_words [AGES];

  task automatic begin_anew;
    now = 0;
    open = '0;
    for (int b = 0; b < BANKS; b++) begin
      row[b] = '0;
      opened[b] = LONG_AGO;
      closed[b] = LONG_AGO;
      written[b] = LONG_AGO;
    end
    for (int i = 0; i < AGES; i++) begin
      reads[i] = 1'b0;
      read_words[i] = PATTERN;
    end
    refreshed = LONG_AGO;
    mode_set = LONG_AGO;
    opened_any = LONG_AGO;
    first_refresh = 0;
    latency = 3;
    has_mode = 1'b0;
    was_closed = 1'b0;
    count = 0;
    turn = 0;
    interval = times.t_window / times.refreshes;
    rule = 8'd0;
    broken = 32'd0;
    words = 32'd0;
    dq_i <= PATTERN;
    dq_drives <= 1'b0;
  endtask

  initial begin_anew();
  assign refreshes = 32'(count);

  task automatic check(input bit holds, input bit [7:0] number);
    if (!holds) begin
      if (broken == 0) rule = number;
      broken = broken + 1;
    end
  endtask

  // Whether a time has passed since another, as long as this and as many cycles.
  function automatic bit passed(input longint since, input longint least, input longint cycles);
    return now - since >= least && now - since >= cycles * times.period;
  endfunction

  // What follows a refresh, the mode, or a command before them.
  task automatic check_ready;
    check(now + times.phase >= times.t_power_up, POWER_UP);
    check(passed(refreshed, times.t_rfc, 1), RFC);
    check(passed(mode_set, times.t_mrd, times.c_mrd), MRD);
  endtask

  task automatic close_row(input int b);
    if (open[b]) begin
      check(passed(opened[b], times.t_ras, 1), RAS);
      check(now - opened[b] <= times.t_ras_most, RAS_MOST);
      check(passed(written[b], times.t_wr, times.c_wr), WR);
    end
    open[b] = 1'b0;
    closed[b] = now;
  endtask

  task automatic check_closed;
    check(was_closed, NOT_CLOSED);
    check(open == '0, NOT_ALL_CLOSED);
    for (int b = 0; b < BANKS; b++) check(passed(closed[b], times.t_rp, 1), RP);
  endtask

  task automatic refresh;
    check_closed();
    for (int b = 0; b < BANKS; b++) check(passed(opened[b], times.t_rc, 1), RC);
    if (count == 0) first_refresh = now;
    history[turn] = now;
    turn = turn + 1 == int'(times.refreshes) ? 0 : turn + 1;
    refreshed = now;
    count = count + 1;
  endtask

  // Refreshes take rows in turn: the next one's is the oldest one's.
  task automatic check_refreshes;
    longint earlier;
    earlier = count < times.refreshes ? first_refresh : history[turn];
    check(now - refreshed <= 2 * interval, LATE);
    check(now - earlier <= times.t_window, WINDOW);
  endtask

  task automatic open_row(input int b);
    check(has_mode, NO_MODE);
    check(count >= times.first_refreshes, FEW_REFRESHES);
    check(!open[b], OPEN);
    check(passed(closed[b], times.t_rp, 1), RP);
    check(passed(opened[b], times.t_rc, 1), RC);
    check(passed(opened_any, times.t_rrd, times.c_rrd), RRD);
    opened[b] = now;
    opened_any = now;
    open[b] = 1'b1;
    row[b] = a[ROW_BITS-1:0];
  endtask

  task automatic access(input int b);
    bit [BANK_BITS+ROW_BITS+COLUMN_BITS-1:0] place;
    bit [ADDRESS_BITS-1:0] beyond;
    check(has_mode, NO_MODE);
    check(open[b], CLOSED);
    check(passed(opened[b], times.t_rcd, 1), RCD);
    check(!a[10], UNKNOWN); // automatic precharge
    beyond = a & ~(ADDRESS_BITS'(1) << 10);
    check(beyond >> COLUMN_BITS == 0, ADDRESS);
    place = {BANK_BITS'(b), row[b], a[COLUMN_BITS-1:0]};
    words = words + 1;
    if (we_n) begin
      reads[0] = 1'b1;
      read_words[0] = memory[place];
    end else begin
      check(dq_oe, NOT_DRIVEN);
      written[b] = now;
      for (int i = 0; i < WORD_BYTES; i++)
        if (!dqm[i]) memory[place][8*i +: 8] = dq_o[8*i +: 8];
    end
  endtask

  task automatic set_mode;
    check_closed();
    latency = int'(a[6:4]);
    check(ba == 0 && a[3:0] == 0 && a[ADDRESS_BITS-1:7] == 0, MODE);
    check(latency == 2 || latency == 3, MODE);
    check(times.period >= (latency == 2 ? times.t_ck2 : times.t_ck3), CLOCK);
    has_mode = 1'b1;
    mode_set = now;
  endtask

  // Whether the word of a read of some age is driven while the controller's cycle lasts.
  function automatic bit overlaps(input int age);
    return age * times.period < times.phase + latency * times.period + times.t_hz
        && (age + 1) * times.period > times.phase + (latency - 1) * times.period;
  endfunction

  // Whether the word of a read of some age is stable at the controller's next edge.
  function automatic bit arrives(input int age);
    longint first, last, at;
    first = times.phase + (latency - 1) * times.period + times.delay_most
        + (latency == 2 ? times.t_ac2 : times.t_ac3);
    last = times.phase + latency * times.period + times.t_oh + times.delay_least;
    at = (age + 2) * times.period;
    return first <= at && at <= last;
  endfunction

  always @(posedge clk) begin
    for (int i = AGES - 1; i > 0; i--) begin
      reads[i] = reads[i-1];
      read_words[i] = read_words[i-1];
    end
    reads[0] = 1'b0;
    check(times.phase >= times.t_is + times.skew, SETUP);
    check(times.period - times.phase >= times.t_ih + times.skew, SETUP);
    if (!has_mode) check(&dqm, MASK);
    if (!cke) check(!has_mode, UNKNOWN);
    if (!cs_n && cke && {ras_n, cas_n, we_n} != 3'b111) begin
      check_ready();
      case ({ras_n, cas_n, we_n})
        3'b000: set_mode();
        3'b001: refresh();
        3'b010: begin
          if (a[10]) begin
            was_closed = 1'b1;
            for (int b = 0; b < BANKS; b++) close_row(b);
          end else close_row(int'(ba));
        end
        3'b011: open_row(int'(ba));
        3'b100, 3'b101: access(int'(ba));
        default: check(1'b0, UNKNOWN);
      endcase
    end
    // A mask of two cycles ago hides bytes of a word that would be read.
    if (reads[latency-2])
      for (int i = 0; i < WORD_BYTES; i++)
        if (dqm[i]) read_words[latency-2][8*i +: 8] = PATTERN[8*i +: 8];
    for (int i = 0; i < AGES; i++)
      if (reads[i] && dq_oe) check(!overlaps(i), CONTENTION);
    dq_i <= PATTERN ^ WORD'(now);
    dq_drives <= 1'b0;
    for (int i = 0; i < AGES; i++)
      if (reads[i] && arrives(i)) begin
        dq_i <= read_words[i];
        dq_drives <= 1'b1;
      end
    if (has_mode) check_refreshes();
    now = now + times.period;
    if (power_up) begin_anew();
  end
endmodule
