import CALSA
import Glibc
import PCastIO
import PCastMedia

/// A PCM device of ALSA that plays two channels of 16 bits, set up for little delay (COD10). It never waits but in `wait`,
/// which can be ended.
///
/// Unchecked: used by one thread at a time, the last of which closes it, but for `signal`.
final class PlaybackPCM: @unchecked Sendable {
    static let channels = 2

    /// Of 10 ms each: what the buffer holds. How much of it is used is for `wake` to say.
    private static let periods: UInt32 = 8

    /// What ended a wait.
    enum Wake {
        case signalled
        case ready
        case nothing
    }

    /// What the device says of itself at one moment.
    struct Status {
        var state: snd_pcm_state_t
        /// Samples that it would take.
        var room: Int
        /// Samples that were written and not yet heard.
        var delay: Int
        /// When that was so.
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

    /// - Parameter name: of alsa-lib, such as `default` or `hw:CARD=PCH,DEV=0`.
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

    /// As it is where it takes two channels of 16 bits, else through alsa-lib's conversion. Rates are ours.
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

    /// Gives the device back at once, whatever waits in it; nothing but `signal` may be called after that.
    func close() {
        if !isClosed {
            snd_pcm_drop(pcm)
            snd_pcm_close(pcm)
        }
        isClosed = true
    }

    /// From now on, `wait` says that it is ready when no more than so many samples are left to play.
    func wake(at queued: Int) throws(PlaybackFailure) {
        try PlaybackFailure.check(calsa_wake_at(pcm, snd_pcm_uframes_t(max(period, buffer - queued))))
    }

    /// Makes it ready to be written to, with nothing in it.
    func prepare() throws(PlaybackFailure) {
        snd_pcm_drop(pcm)
        try PlaybackFailure.check(snd_pcm_prepare(pcm))
    }

    func start() throws(PlaybackFailure) { try PlaybackFailure.check(snd_pcm_start(pcm)) }

    /// Goes on after the machine slept. Answers false when the device is not yet ready for that.
    func resume() -> Bool { snd_pcm_resume(pcm) != -EAGAIN }

    /// Waits until no more than the asked periods are left to play, or for `signal`.
    ///
    /// - Parameter isPaced: not for the device, which would take sound too early.
    func wait(milliseconds: Int32, isPaced: Bool) throws(PlaybackFailure) -> Wake {
        let result = try PlaybackFailure.check(calsa_wait(isPaced ? nil : pcm, wakeSignal, milliseconds))
        if result & Int32(CALSA_SIGNALLED) != 0 { return .signalled }
        return result & Int32(CALSA_READY) != 0 ? .ready : .nothing
    }

    /// Ends the wait that is under way, and every later one. Any thread's.
    func signal() { calsa_signal_raise(wakeSignal) }

    func readStatus() throws(PlaybackFailure) -> Status {
        try PlaybackFailure.check(snd_pcm_status(pcm, status))
        let now = MonotonicClock.now()
        var time = timespec()
        snd_pcm_status_get_htstamp(status, &time)
        let told = Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
        let isTimed = isMonotonic && told <= now && now - told < .seconds(1)
        let room = min(max(0, Int(snd_pcm_status_get_avail(status))), buffer)
        let delay = Int(snd_pcm_status_get_delay(status))
        return Status(
            state: snd_pcm_status_get_state(status), room: room,
            delay: (0...buffer + rate).contains(delay) ? delay : buffer - room, instant: isTimed ? told : now)
    }

    /// Writes as much as there is room for. Answers how many samples of each channel.
    func write(_ samples: UnsafeBufferPointer<Int16>) throws(PlaybackFailure) -> Int {
        let result = snd_pcm_writei(pcm, samples.baseAddress, snd_pcm_uframes_t(samples.count / Self.channels))
        if result == -Int(EAGAIN) { return 0 }
        return Int(try PlaybackFailure.check(Int32(clamping: result)))
    }
}

/// An error number of alsa-lib.
struct PlaybackFailure: Error {
    /// Negative.
    var code: Int32

    @discardableResult
    static func check(_ result: Int32) throws(PlaybackFailure) -> Int32 {
        guard result >= 0 else { throw PlaybackFailure(code: result) }
        return result
    }

    /// alsa-lib's words.
    var reason: String { String(cString: snd_strerror(code)) }

    /// Whether the device ran dry or slept, and its state says which.
    var isInterruption: Bool { code == -EPIPE || code == -ESTRPIPE }
}
