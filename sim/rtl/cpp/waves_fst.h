// Waves as FST, by Verilator's writer. It tells of no error: whether all of the file is there is
// seen when it is closed (tilewright.sim.rtl.waves).
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

#include "verilated_fst_c.h"

class Waves {
public:
    template <typename Model>
    void open(Model& model, const char* path) {
        const int handle = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (handle < 0) {
            error_ = errno;
            return;
        }
        ::close(handle);
        trace_.reset(new VerilatedFstC);
        model.trace(trace_.get(), 99);
        trace_->open(path);
    }
    void dump(uint64_t time) {
        if (trace_) trace_->dump(time);
    }
    void close() {
        if (trace_) trace_->close();
    }
    // What kept them from being opened, a number of errno.h; 0 if nothing did.
    int error() const { return error_; }

private:
    int error_ = 0;
    std::unique_ptr<VerilatedFstC> trace_;
};
