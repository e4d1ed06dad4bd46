// Waves as VCD. Where their file cannot be written, the rest is dropped and the error kept;
// Verilator's own file would flush once more, and wait for ever for a lock that it holds.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <memory>
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

class Waves {
public:
    template <typename Model>
    void open(Model& model, const char* path) {
        trace_.reset(new VerilatedVcdC(&file_));
        model.trace(trace_.get(), 99);
        trace_->open(path);
    }
    void dump(uint64_t time) {
        if (trace_) trace_->dump(time);
    }
    void close() {
        if (trace_) trace_->close();
    }
    // What kept them from being written, a number of errno.h; 0 if nothing did.
    int error() const { return file_.error(); }

private:
    WaveFile file_;
    std::unique_ptr<VerilatedVcdC> trace_;
};
