// A Verilated unit with its clock, and its waves where they are wanted.
//
// native_glue.h is generated from the unit's sidecar. It defines the model class `Model`,
// set_clock and set_reset, and what a harness needs besides.
#pragma once

#include <memory>

#include "native_glue.h"
#include "verilated.h"
#if defined(NATIVE_TRACE_VCD)
#define NATIVE_TRACE
#include "waves_vcd.h"
#elif defined(NATIVE_TRACE_FST)
#define NATIVE_TRACE
#include "waves_fst.h"
#endif

class ClockedModel {
public:
    ClockedModel() : context_(new VerilatedContext) {
#ifdef NATIVE_TRACE
        context_->traceEverOn(true);
#endif
        model_.reset(new Model(context_.get()));
    }
    ~ClockedModel() { finish(); }

    // Ends the simulation; returns what kept its waves from being written, 0 if nothing did.
    int finish() {
        if (!finished_) model_->final();
        finished_ = true;
#ifdef NATIVE_TRACE
        waves_.close();
#endif
        return waves_error();
    }

    Model& operator*() { return *model_; }

    // The first half of a cycle: outputs follow the inputs that were set.
    void settle() { half(false); }

    // The clock edge, and the second half.
    void edge() { half(true); }

#ifdef NATIVE_TRACE
    void trace(const char* path) {
        waves_.open(*model_, path);
    }
    int waves_error() const { return waves_.error(); }
#else
    static constexpr int waves_error() { return 0; }
#endif

private:
    void half(bool high) {
        set_clock(*model_, high);
        model_->eval();
#ifdef NATIVE_TRACE
        waves_.dump(time_);
        time_ += 500;
#endif
    }

    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<Model> model_;
    bool finished_ = false;
#ifdef NATIVE_TRACE
    Waves waves_;
    uint64_t time_ = 0;
#endif
};
