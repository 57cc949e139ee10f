#pragma once

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <alsa/asoundlib.h>

// Functions for what Swift cannot import or express: the variadic error handler, waiting for a PCM and a signal at the
// same time, and the configuration of a PCM, which is the same for capture (PCastDevices) and playback
// (PCastRendering).

// MARK: Errors

static void calsa_ignore(const char *file, int line, const char *function, int error, const char *format, ...) {
    (void)file, (void)line, (void)function, (void)error, (void)format;
}

// Suppresses alsa-lib's messages on standard error; errors are reported by the callers.
static inline void calsa_silence(void) { snd_lib_error_set_handler(calsa_ignore); }

// MARK: Waiting

// Creates an eventfd that ends a wait: it is readable after it has been raised. Returns -1 and sets errno if that
// fails.
static inline int calsa_signal_make(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline void calsa_signal_raise(int signal) {
    uint64_t one = 1;
    ssize_t written = write(signal, &one, sizeof one);
    (void)written;
}

static inline void calsa_signal_close(int signal) { close(signal); }

enum { CALSA_SIGNALLED = 1, CALSA_READY = 2, CALSA_BROKEN = 4 };

// Waits until the signal has been raised, the PCM has at least avail_min frames available, or the time has passed (0 is
// returned). The PCM may be NULL. Returns a set of the above values, or a negative error number.
static inline int calsa_wait(snd_pcm_t *pcm, int signal, int milliseconds) {
    struct pollfd polled[16];
    int count = 0;
    if (pcm) {
        count = snd_pcm_poll_descriptors_count(pcm);
        if (count < 0 || count > 15) return -EINVAL;
        count = snd_pcm_poll_descriptors(pcm, polled + 1, (unsigned)count);
        // Shared devices (dsnoop, dmix) already report an overrun or underrun here.
        if (count == -EPIPE || count == -ESTRPIPE) return CALSA_BROKEN;
        if (count < 0) return count;
    }
    polled[0].fd = signal;
    polled[0].events = POLLIN;
    polled[0].revents = 0;
    int ready = poll(polled, (nfds_t)count + 1, milliseconds);
    if (ready < 0) return errno == EINTR ? 0 : -errno;
    int result = polled[0].revents ? CALSA_SIGNALLED : 0;
    if (count == 0 || ready == (result != 0)) return result;
    unsigned short events = 0;
    if (snd_pcm_poll_descriptors_revents(pcm, polled + 1, (unsigned)count, &events) < 0) return result | CALSA_BROKEN;
    if (events & (POLLIN | POLLOUT)) result |= CALSA_READY;
    if (events & (POLLERR | POLLNVAL | POLLHUP)) result |= CALSA_BROKEN;
    return result;
}

// MARK: Configuration

struct calsa_setup {
    // The parameters that the PCM has accepted; period and buffer are in frames.
    snd_pcm_format_t format;
    unsigned channels;
    unsigned rate;
    snd_pcm_uframes_t period;
    snd_pcm_uframes_t buffer;
    // Whether the timestamps of the PCM's status are of CLOCK_MONOTONIC.
    int is_monotonic;
    // The name of the call that failed.
    const char *failed;
};

#define CALSA_TRY(call)                  \
    do {                                 \
        int calsa_result = (call);       \
        if (calsa_result < 0) {          \
            setup->failed = #call;       \
            result = calsa_result;       \
            goto done;                   \
        }                                \
    } while (0)

// Configures a PCM with interleaved access and
//
// - the first of the formats that it supports,
// - the given number of channels, or else the next higher supported number, or else the highest,
// - the nearest rate, without alsa-lib's resampler,
// - periods of 10 ms, and the given number of periods in the buffer.
//
// The PCM does not start automatically (start_threshold), stops at an overrun or underrun, and becomes ready when a
// period can be read or written (avail_min). Returns a negative error number and sets `failed` if a call fails.
static inline int calsa_set_up(
    snd_pcm_t *pcm, const snd_pcm_format_t *formats, int format_count, unsigned channels, unsigned rate, unsigned periods,
    struct calsa_setup *setup) {
    int result = 0;
    snd_pcm_hw_params_t *hardware = NULL;
    snd_pcm_sw_params_t *software = NULL;
    setup->failed = "";
    CALSA_TRY(snd_pcm_hw_params_malloc(&hardware));
    CALSA_TRY(snd_pcm_sw_params_malloc(&software));

    CALSA_TRY(snd_pcm_hw_params_any(pcm, hardware));
    CALSA_TRY(snd_pcm_hw_params_set_rate_resample(pcm, hardware, 0));
    CALSA_TRY(snd_pcm_hw_params_set_access(pcm, hardware, SND_PCM_ACCESS_RW_INTERLEAVED));
    int index = 0;
    while (index < format_count && snd_pcm_hw_params_test_format(pcm, hardware, formats[index]) < 0) index++;
    if (index == format_count) {
        setup->failed = "snd_pcm_hw_params_test_format";
        result = -EINVAL;
        goto done;
    }
    setup->format = formats[index];
    CALSA_TRY(snd_pcm_hw_params_set_format(pcm, hardware, setup->format));
    setup->channels = channels;
    if (snd_pcm_hw_params_test_channels(pcm, hardware, channels) < 0) {
        unsigned more = channels;
        if (snd_pcm_hw_params_set_channels_min(pcm, hardware, &more) < 0) {
            CALSA_TRY(snd_pcm_hw_params_set_channels_last(pcm, hardware, &setup->channels));
        } else {
            CALSA_TRY(snd_pcm_hw_params_set_channels_first(pcm, hardware, &setup->channels));
        }
    } else {
        CALSA_TRY(snd_pcm_hw_params_set_channels(pcm, hardware, channels));
    }
    setup->rate = rate;
    CALSA_TRY(snd_pcm_hw_params_set_rate_near(pcm, hardware, &setup->rate, NULL));
    setup->period = setup->rate / 100;
    CALSA_TRY(snd_pcm_hw_params_set_period_size_near(pcm, hardware, &setup->period, NULL));
    setup->buffer = setup->period * periods;
    CALSA_TRY(snd_pcm_hw_params_set_buffer_size_near(pcm, hardware, &setup->buffer));
    CALSA_TRY(snd_pcm_hw_params(pcm, hardware));
    CALSA_TRY(snd_pcm_hw_params_get_period_size(hardware, &setup->period, NULL));
    CALSA_TRY(snd_pcm_hw_params_get_buffer_size(hardware, &setup->buffer));

    CALSA_TRY(snd_pcm_sw_params_current(pcm, software));
    snd_pcm_uframes_t boundary = 0;
    CALSA_TRY(snd_pcm_sw_params_get_boundary(software, &boundary));
    CALSA_TRY(snd_pcm_sw_params_set_start_threshold(pcm, software, boundary));
    CALSA_TRY(snd_pcm_sw_params_set_stop_threshold(pcm, software, setup->buffer));
    CALSA_TRY(snd_pcm_sw_params_set_avail_min(pcm, software, setup->period));
    CALSA_TRY(snd_pcm_sw_params_set_tstamp_mode(pcm, software, SND_PCM_TSTAMP_ENABLE));
    // Old kernels and some plugins support only timestamps of the wall clock.
    setup->is_monotonic = snd_pcm_sw_params_set_tstamp_type(pcm, software, SND_PCM_TSTAMP_TYPE_MONOTONIC) >= 0;
    if (snd_pcm_sw_params(pcm, software) < 0) {
        setup->is_monotonic = 0;
        CALSA_TRY(snd_pcm_sw_params_set_tstamp_type(pcm, software, SND_PCM_TSTAMP_TYPE_GETTIMEOFDAY));
        CALSA_TRY(snd_pcm_sw_params(pcm, software));
    }

done:
    if (hardware) snd_pcm_hw_params_free(hardware);
    if (software) snd_pcm_sw_params_free(software);
    return result;
}

#undef CALSA_TRY

// Sets the number of frames that must be available for the PCM to become ready (avail_min).
static inline int calsa_wake_at(snd_pcm_t *pcm, snd_pcm_uframes_t frames) {
    snd_pcm_sw_params_t *software = NULL;
    int result = snd_pcm_sw_params_malloc(&software);
    if (result >= 0) result = snd_pcm_sw_params_current(pcm, software);
    if (result >= 0) result = snd_pcm_sw_params_set_avail_min(pcm, software, frames);
    if (result >= 0) result = snd_pcm_sw_params(pcm, software);
    if (software) snd_pcm_sw_params_free(software);
    return result;
}
