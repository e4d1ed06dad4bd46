// The file that waves go to. Where it cannot be written, the rest is dropped and the error kept;
// Verilator's own file would flush once more, and wait for ever for a lock that it holds.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include "verilated_vcd_c.h"

class WaveFile final : public VerilatedVcdFile {
public:
    bool open(const std::string& name) override {
        handle_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (handle_ < 0) error_ = errno;
        return handle_ >= 0;
    }

    void close() override {
        if (handle_ >= 0 && ::close(handle_) != 0 && error_ == 0) error_ = errno;
        handle_ = -1;
    }

    ssize_t write(const char* content, ssize_t length) override {
        if (error_) return length;
        const ssize_t written = ::write(handle_, content, static_cast<size_t>(length));
        if (written >= 0) return written;
        if (errno == EINTR) return 0;
        error_ = errno;
        return length;
    }

    // What went wrong first, a number of errno.h; 0 if nothing did.
    int error() const { return error_; }

private:
    int handle_ = -1;
    int error_ = 0;
};
