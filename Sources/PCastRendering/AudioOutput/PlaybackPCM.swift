import CALSA
import Glibc
import PCastCore
import PCastIO

/// An ALSA playback device with two channels of 16 bits and low latency. Only `wait` blocks, and `signal` ends it.
///
/// It is `@unchecked Sendable` because only one thread at a time uses it, the last of which closes it. `signal` may be
/// called from any thread.
final class PlaybackPCM: @unchecked Sendable {
    static let channels = 2

    /// The size of the buffer in periods of 10 ms. `wake(at:)` sets how much of it is used.
    private static let periods: UInt32 = 8

    /// The reason why a wait ended.
    enum WakeReason {
        case signalled
        case ready
        case nothing
    }

    /// The state of the device at one time.
    struct Status {
        var state: snd_pcm_state_t
        /// The number of samples per channel that can be written.
        var available: Int
        /// The number of samples per channel that were written and are not yet played.
        var delay: Int
        /// The time of this status.
        var instant: Instant
    }

    let rate: Int
    let period: Int
    let buffer: Int
    private let isMonotonic: Bool
    private let pcm: OpaquePointer
    private let status: OpaquePointer
    private let wakeSignal: Int32
    private var isClosed = false

    /// Opens a device by its alsa-lib name, such as `default` or `hw:CARD=PCH,DEV=0`. Throws `PlaybackFailure`.
    init(name: String) throws(PlaybackFailure) {
        calsa_silence()
        let (pcm, setup) = try Self.open(name)
        var status: OpaquePointer?
        wakeSignal = calsa_signal_make()
        guard setup.rate > 0, setup.period > 0, wakeSignal >= 0, snd_pcm_status_malloc(&status) >= 0, let status else {
            calsa_signal_close(wakeSignal)
            snd_pcm_close(pcm)
            throw PlaybackFailure(code: -EINVAL)
        }
        rate = Int(setup.rate)
        period = Int(setup.period)
        buffer = Int(setup.buffer)
        isMonotonic = setup.is_monotonic != 0
        self.pcm = pcm
        self.status = status
    }

    deinit {
        close()
        snd_pcm_status_free(status)
        calsa_signal_close(wakeSignal)
    }

    /// Opens the device directly if it supports two channels of 16 bits, otherwise through alsa-lib's `plug`
    /// conversion. This code converts the rate itself.
    private static func open(_ name: String) throws(PlaybackFailure) -> (OpaquePointer, calsa_setup) {
        let alternatives = [name, "plug:'\(name)'"]
        for (index, name) in alternatives.enumerated() {
            var opened: OpaquePointer?
            try PlaybackFailure.check(snd_pcm_open(&opened, name, SND_PCM_STREAM_PLAYBACK, Int32(SND_PCM_NONBLOCK)))
            let pcm = opened!
            var setup = calsa_setup()
            var format = SND_PCM_FORMAT_S16
            let result = calsa_set_up(
                pcm, &format, 1, UInt32(channels), UInt32(AudioFrame.sampleRate), periods, &setup)
            if result >= 0, setup.channels == channels { return (pcm, setup) }
            snd_pcm_close(pcm)
            if index == alternatives.count - 1 { throw PlaybackFailure(code: result < 0 ? result : -EINVAL) }
        }
        throw PlaybackFailure(code: -EINVAL)
    }

    /// Closes the device at once and discards buffered audio. Afterwards, only `signal` may be called.
    func close() {
        if !isClosed {
            snd_pcm_drop(pcm)
            snd_pcm_close(pcm)
        }
        isClosed = true
    }

    /// Sets the number of remaining samples per channel at which `wait` reports that the device is ready.
    func wake(at queued: Int) throws(PlaybackFailure) {
        try PlaybackFailure.check(calsa_wake_at(pcm, snd_pcm_uframes_t(max(period, buffer - queued))))
    }

    /// Prepares the device with an empty buffer.
    func prepare() throws(PlaybackFailure) {
        snd_pcm_drop(pcm)
        try PlaybackFailure.check(snd_pcm_prepare(pcm))
    }

    func start() throws(PlaybackFailure) { try PlaybackFailure.check(snd_pcm_start(pcm)) }

    /// Resumes the device after the system was suspended. Returns false if the device is not ready yet.
    func resume() -> Bool { snd_pcm_resume(pcm) != -EAGAIN }

    /// Waits until the device is ready or `signal` is called. With `isPaced`, it does not wait for the device, which
    /// would be ready too early. Throws `PlaybackFailure`.
    func wait(milliseconds: Int32, isPaced: Bool) throws(PlaybackFailure) -> WakeReason {
        let result = try PlaybackFailure.check(calsa_wait(isPaced ? nil : pcm, wakeSignal, milliseconds))
        if result & Int32(CALSA_SIGNALLED) != 0 { return .signalled }
        return result & Int32(CALSA_READY) != 0 ? .ready : .nothing
    }

    /// Ends the current wait and all later ones. It can be called from any thread.
    func signal() { calsa_signal_raise(wakeSignal) }

    func readStatus() throws(PlaybackFailure) -> Status {
        try PlaybackFailure.check(snd_pcm_status(pcm, status))
        let now = MonotonicClock.now()
        var time = timespec()
        snd_pcm_status_get_htstamp(status, &time)
        let statusTime = Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
        let isTimed = isMonotonic && statusTime <= now && now - statusTime < .seconds(1)
        let available = min(max(0, Int(snd_pcm_status_get_avail(status))), buffer)
        let delay = Int(snd_pcm_status_get_delay(status))
        return Status(
            state: snd_pcm_status_get_state(status), available: available,
            delay: (0...buffer + rate).contains(delay) ? delay : buffer - available, instant: isTimed ? statusTime : now
        )
    }

    /// Writes as much as the device accepts and returns the number of samples per channel.
    func write(_ samples: UnsafeBufferPointer<Int16>) throws(PlaybackFailure) -> Int {
        let result = snd_pcm_writei(pcm, samples.baseAddress, snd_pcm_uframes_t(samples.count / Self.channels))
        if result == -Int(EAGAIN) { return 0 }
        return Int(try PlaybackFailure.check(Int32(clamping: result)))
    }
}

/// An error of alsa-lib.
struct PlaybackFailure: Error {
    /// The negative error number.
    var code: Int32

    @discardableResult
    static func check(_ result: Int32) throws(PlaybackFailure) -> Int32 {
        guard result >= 0 else { throw PlaybackFailure(code: result) }
        return result
    }

    /// alsa-lib's description.
    var reason: String { String(cString: snd_strerror(code)) }

    /// Whether it reports an underrun or a suspended system. The state of the device shows which of the two occurred.
    var isInterruption: Bool { code == -EPIPE || code == -ESTRPIPE }
}
