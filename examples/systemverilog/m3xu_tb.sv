// A self-checking test bench around m3xu; README.md says how it is run.
//
// Operations go in with random gaps, results are taken with random stalls, and each is compared with
// a value that was worked out by hand. On a failure the exit status is not 0.

module m3xu_tb;

  // From unit.json: where fields lie in the payloads, and the opcodes. These are those of
  // --set rows=2 --set cols=2 --set depth=4 --set modes=fp16,fp32
  localparam int I_WIDTH = 387;
  localparam int I_OP = 0;
  localparam int I_A = 3;
  localparam int I_B = 131;
  localparam int I_C = 259;
  localparam int O_WIDTH = 129;
  localparam int O_D = 0;
  localparam int O_ERROR = 128;
  localparam logic [2:0] OP_FP16 = 0;
  localparam logic [2:0] OP_FP32 = 3;

  localparam int KINDS = 3;
  localparam int COUNT = 100 * KINDS;
  localparam int TIMEOUT = 10000;  // cycles

  logic clk = 0;
  logic rst = 1;
  logic i_valid = 0;
  logic i_ready;
  logic [I_WIDTH-1:0] i_payload = 0;
  logic o_valid;
  logic o_ready = 0;
  logic [O_WIDTH-1:0] o_payload;

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
  logic [I_WIDTH-1:0] operations[0:KINDS-1];
  logic [O_WIDTH-1:0] results[0:KINDS-1];

  initial begin
    // fp16: a is 2 x 4, b is 4 x 2, c and d are fp32.
    //   1 2 3 4   1 0     100 200     107 210
    //   5 6 7 8 * 0 1  +  300 400  =  319 422
    //             2 0
    //             0 2
    operations[0] = '0;
    operations[0][I_OP+:3] = OP_FP16;
    operations[0][I_A+:128] = 128'h4800_4700_4600_4500__4400_4200_4000_3C00;
    operations[0][I_B+:128] = 128'h4000_0000__0000_4000__3C00_0000__0000_3C00;
    operations[0][I_C+:128] = 128'h43C80000_43960000__43480000_42C80000;
    results[0] = '0;
    results[0][O_D+:128] = 128'h43D30000_439F8000__43520000_42D60000;

    // fp32: an element of a takes two neighbouring lanes of its row, one of b two of its column,
    // the low half first; so a and b are 2 x 2. 2^24 - 1 needs all bits of a significand;
    // 3 * (2^24 - 1) = 50331645 is between two numbers of fp32, nearer to 50331644.
    //   2^24-1   1     1  3     0     0         2^24   50331644
    //      0.5  -2  *  1  0  +  0.25  0     =  -1.25   1.5
    operations[1] = '0;
    operations[1][I_OP+:3] = OP_FP32;
    operations[1][I_A+:128] = 128'hC0000000_3F000000__3F800000_4B7FFFFF;
    // Lanes by rows: low halves of row 0, high halves of row 0, low and high halves of row 1.
    operations[1][I_B+:128] = 128'h0000_3F80__0000_0000__4040_3F80__0000_0000;
    operations[1][I_C+:128] = 128'h00000000_3E800000__00000000_00000000;
    results[1] = '0;
    results[1][O_D+:128] = 128'h3FC00000_BFA00000__4C3FFFFF_4B800000;

    // An opcode that this unit was not built with: d is 0, and error is set.
    operations[2] = '1;
    operations[2][I_OP+:3] = 3'd1;
    results[2] = '0;
    results[2][O_ERROR] = 1'b1;
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
  logic [O_WIDTH-1:0] last_payload = 0;
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
