// A self-checking test bench around m3xu; README.md says how it is run.
//
// Operations go in with random gaps, results are taken with random stalls, and each is compared with
// a value that was worked out by hand. On a failure the exit status is not 0.

module m3xu_tb;

  // The payloads i_t and o_t, the opcodes OP_FP16 and others, as they were generated.
  import m3xu_pkg::*;

  localparam int KINDS = 3;
  localparam int COUNT = 100 * KINDS;
  localparam int TIMEOUT = 10000;  // cycles

  logic clk = 0;
  logic rst = 1;
  logic i_valid = 0;
  logic i_ready;
  i_t i_payload = '0;
  logic o_valid;
  logic o_ready = 0;
  o_t o_payload;

  m3xu unit (
    .clk(clk),
    .rst(rst),
    .i__valid(i_valid),
    .i__ready(i_ready),
    .i__payload(i_payload),
    .o__valid(o_valid),
    .o__ready(o_ready),
    .o__payload(o_payload)
  );

  always #5 clk = ~clk;

  // Three operations d = a * b + c and their results. Arrays are row by row, element 0 lowest, so
  // the last element stands first.
  logic [$bits(i_payload)-1:0] operations[0:KINDS-1];
  logic [$bits(o_payload)-1:0] results[0:KINDS-1];
  i_t operation;
  o_t result;

  initial begin
    // fp16: a is 2 x 4, b is 4 x 2, c and d are fp32.
    //   1 2 3 4   1 0     100 200     107 210
    //   5 6 7 8 * 0 1  +  300 400  =  319 422
    //             2 0
    //             0 2
    operation = '0;
    operation.op = OP_FP16;
    operation.a = 128'h4800_4700_4600_4500__4400_4200_4000_3C00;
    operation.b = 128'h4000_0000__0000_4000__3C00_0000__0000_3C00;
    operation.c = 128'h43C80000_43960000__43480000_42C80000;
    result = '0;
    result.d = 128'h43D30000_439F8000__43520000_42D60000;
    operations[0] = operation;
    results[0] = result;

    // fp32: an element of a takes two neighbouring lanes of its row, one of b two of its column,
    // the low half first; so a and b are 2 x 2. 2^24 - 1 needs all bits of a significand;
    // 3 * (2^24 - 1) = 50331645 is between two numbers of fp32, nearer to 50331644.
    //   2^24-1   1     1  3     0     0         2^24   50331644
    //      0.5  -2  *  1  0  +  0.25  0     =  -1.25   1.5
    operation = '0;
    operation.op = OP_FP32;
    operation.a = 128'hC0000000_3F000000__3F800000_4B7FFFFF;
    // Lanes by rows: low halves of row 0, high halves of row 0, low and high halves of row 1.
    operation.b = 128'h0000_3F80__0000_0000__4040_3F80__0000_0000;
    operation.c = 128'h00000000_3E800000__00000000_00000000;
    result = '0;
    result.d = 128'h3FC00000_BFA00000__4C3FFFFF_4B800000;
    operations[1] = operation;
    results[1] = result;

    // All bits are set. The unit has no such opcode: d is 0, and error is set.
    operation = '1;
    result = '0;
    result.error = 1'b1;
    operations[2] = operation;
    results[2] = result;
  end

  // Payload and valid stay as they are from the cycle in which valid rises to the transfer.
  int sent = 0;
  always @(posedge clk) begin
    if (rst) begin
      i_valid <= 0;
    end else begin
      if (i_valid && i_ready) i_valid <= 0;
      if ((!i_valid || i_ready) && sent < COUNT && $urandom_range(3) != 0) begin
        i_valid <= 1;
        i_payload <= operations[sent%KINDS];
        sent <= sent + 1;
      end
    end
  end

  int received = 0;
  logic held = 0;
  o_t last_payload = '0;
  always @(posedge clk) begin
    o_ready <= $urandom_range(2) != 0;
    if (!rst) begin
      if (held && (o_valid !== 1 || o_payload !== last_payload)) begin
        $fatal(1, "result %0d changed before it was taken", received);
      end
      held <= o_valid && !o_ready;
      last_payload <= o_payload;
      if (o_valid && o_ready) begin
        if (o_payload !== results[received%KINDS]) begin
          $fatal(1, "result %0d is %h, not %h", received, o_payload, results[received%KINDS]);
        end
        received <= received + 1;
        if (received + 1 == COUNT) begin
          $display("PASS: %0d results", COUNT);
          $finish;
        end
      end
    end
  end

  int cycle = 0;
  always @(posedge clk) begin
    cycle <= cycle + 1;
    rst <= cycle < 2;
    if (cycle == TIMEOUT) begin
      $fatal(1, "%0d of %0d results after %0d cycles", received, COUNT, TIMEOUT);
    end
  end

endmodule
