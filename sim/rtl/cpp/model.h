// A Verilated unit with its clock, and its waves where they are wanted.
//
// native_glue.h is generated from the unit's sidecar. It defines the model class `Model`,
// set_clock and set_reset, and what a harness needs besides.
#pragma once

#include <memory>

#include "native_glue.h"
#include "verilated.h"
#ifdef NATIVE_TRACE
#include "verilated_vcd_c.h"
#endif

class ClockedModel {
public:
    ClockedModel() : context_(new VerilatedContext) {
#ifdef NATIVE_TRACE
        context_->traceEverOn(true);
#endif
        model_.reset(new Model(context_.get()));
    }
    ~ClockedModel() {
        model_->final();
#ifdef NATIVE_TRACE
        if (trace_) trace_->close();
#endif
    }

    Model& operator*() { return *model_; }

    // The first half of a cycle: outputs follow the inputs that were set.
    void settle() { half(false); }

    // The clock edge, and the second half.
    void edge() { half(true); }

#ifdef NATIVE_TRACE
    void trace(const char* path) {
        trace_.reset(new VerilatedVcdC);
        model_->trace(trace_.get(), 99);
        trace_->open(path);
    }
#endif

private:
    void half(bool high) {
        set_clock(*model_, high);
        model_->eval();
#ifdef NATIVE_TRACE
        if (trace_) trace_->dump(time_);
        time_ += 500;
#endif
    }

    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<Model> model_;
#ifdef NATIVE_TRACE
    std::unique_ptr<VerilatedVcdC> trace_;
    uint64_t time_ = 0;
#endif
};
