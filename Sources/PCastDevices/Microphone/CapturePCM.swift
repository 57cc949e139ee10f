import CALSA
import CV4L2
import Glibc
import PCastCore
import PCastIO

/// An ALSA capture device for a microphone with low latency. Only `wait` blocks, and `signal` ends it.
///
/// It is `@unchecked Sendable` because only one thread at a time uses it, the last of which closes it. `signal` may be
/// called from any thread.
final class CapturePCM: @unchecked Sendable {
    /// The size of the buffer in periods of 10 ms. ALSA's default buffers of up to half a second would add latency.
    private static let periods: UInt32 = 4

    /// The reason why a wait ended.
    enum WakeReason {
        case signalled
        case ready
        case broken
        case nothing
    }

    /// The state of the device at one time.
    struct Status {
        var state: snd_pcm_state_t
        /// The number of samples per channel that can be read.
        var available: Int
        /// The number of samples per channel that were captured and not read, including those in transit.
        var delay: Int
        /// The time of this status.
        var instant: Instant
        /// Whether the driver's timestamp was implausible.
        var isTimestampImplausible: Bool
    }

    let format: SampleFormat
    let channels: Int
    let rate: Int
    /// The period and the size of the buffer, in samples per channel.
    let period: Int
    let buffer: Int
    private let isMonotonic: Bool
    private let pcm: OpaquePointer
    private let status: OpaquePointer
    private let wakeSignal: Int32
    private var isClosed = false

    /// Opens a device by its alsa-lib name, such as `hw:CARD=Loopback,DEV=1`, if possible with the given number of
    /// channels. Throws `PCMFailure`.
    init(name: String, channels: Int) throws(PCMFailure) {
        calsa_silence()
        var opened: OpaquePointer?
        try PCMFailure.check("open", snd_pcm_open(&opened, name, SND_PCM_STREAM_CAPTURE, Int32(SND_PCM_NONBLOCK)))
        let pcm = opened!
        do throws(PCMFailure) {
            let setup = try Self.setUp(pcm, channels: channels)
            guard let format = SampleFormat(setup.format), setup.rate > 0, setup.channels > 0, setup.period > 0 else {
                throw PCMFailure(call: "hw_params", code: -EINVAL)
            }
            self.format = format
            self.channels = Int(setup.channels)
            rate = Int(setup.rate)
            period = Int(setup.period)
            buffer = Int(setup.buffer)
            isMonotonic = setup.is_monotonic != 0
            var status: OpaquePointer?
            try PCMFailure.check("status", snd_pcm_status_malloc(&status))
            self.status = status!
            wakeSignal = calsa_signal_make()
            guard wakeSignal >= 0 else {
                snd_pcm_status_free(status)
                throw PCMFailure(call: "eventfd", code: -errno)
            }
        } catch {
            snd_pcm_close(pcm)
            throw error
        }
        self.pcm = pcm
    }

    deinit {
        close()
        snd_pcm_status_free(status)
        calsa_signal_close(wakeSignal)
    }

    private static func setUp(_ pcm: OpaquePointer, channels: Int) throws(PCMFailure) -> calsa_setup {
        var setup = calsa_setup()
        let formats = SampleFormat.preferred.map(\.alsa)
        let result = calsa_set_up(
            pcm, formats, Int32(formats.count), UInt32(channels), UInt32(AudioFrame.sampleRate), Self.periods, &setup)
        try PCMFailure.check(setup.failed.map { String(cString: $0) } ?? "hw_params", result)
        return setup
    }

    /// The number of the sound card; nil for other devices, such as a audio server.
    var card: Int? {
        var info: OpaquePointer?
        guard snd_pcm_info_malloc(&info) >= 0 else { return nil }
        defer { snd_pcm_info_free(info) }
        guard snd_pcm_info(pcm, info) >= 0 else { return nil }
        let number = snd_pcm_info_get_card(info)
        return number >= 0 ? Int(number) : nil
    }

    /// Closes the device. Afterwards, only `signal` may be called. It may be called repeatedly.
    func close() {
        if !isClosed { snd_pcm_close(pcm) }
        isClosed = true
    }

    /// Starts to capture with an empty buffer.
    func start() throws(PCMFailure) {
        if snd_pcm_state(pcm) != SND_PCM_STATE_PREPARED {
            snd_pcm_drop(pcm)
            try PCMFailure.check("prepare", snd_pcm_prepare(pcm))
        }
        try PCMFailure.check("start", snd_pcm_start(pcm))
    }

    /// Resumes the device after the system was suspended. Returns false if the device is not ready yet.
    func resume() throws(PCMFailure) -> Bool {
        switch snd_pcm_resume(pcm) {
        case 0: return true
        case -EAGAIN: return false
        // Devices that cannot resume are restarted.
        default:
            try start()
            return true
        }
    }

    /// Waits for a period or for `signal`. With `isPaced`, it does not wait for the device, which would be ready too
    /// early. Throws `PCMFailure`.
    func wait(milliseconds: Int32, isPaced: Bool = false) throws(PCMFailure) -> WakeReason {
        let result = try PCMFailure.check("poll", calsa_wait(isPaced ? nil : pcm, wakeSignal, milliseconds))
        if result & Int32(CALSA_SIGNALLED) != 0 { return .signalled }
        if result & Int32(CALSA_BROKEN) != 0 { return .broken }
        return result & Int32(CALSA_READY) != 0 ? .ready : .nothing
    }

    /// Ends the current wait and all later ones. It can be called from any thread.
    func signal() { calsa_signal_raise(wakeSignal) }

    func readStatus() throws(PCMFailure) -> Status {
        try PCMFailure.check("status", snd_pcm_status(pcm, status))
        let now = MonotonicClock.now()
        var time = timespec()
        snd_pcm_status_get_htstamp(status, &time)
        let statusTime = Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
        // A driver without timestamps reports zero, and a faulty one reports arbitrary values.
        let isTimed = isMonotonic && statusTime <= now && now - statusTime < .seconds(1)
        let available = min(Int(snd_pcm_status_get_avail(status)), buffer)
        let delay = Int(snd_pcm_status_get_delay(status))
        return Status(
            state: snd_pcm_status_get_state(status), available: available,
            delay: (available...available + rate).contains(delay) ? delay : available,
            instant: isTimed ? statusTime : now,
            isTimestampImplausible: isMonotonic && !isTimed && statusTime != Instant(nanoseconds: 0))
    }

    /// Reads the available audio and returns the number of samples per channel; 0 if there is none. The size of `bytes`
    /// must be a multiple of one sample of all channels. Throws `PCMFailure`.
    func read(into bytes: UnsafeMutableRawBufferPointer) throws(PCMFailure) -> Int {
        let frames = bytes.count / (format.bytes * channels)
        let result = snd_pcm_readi(pcm, bytes.baseAddress, snd_pcm_uframes_t(frames))
        if result == -Int(EAGAIN) { return 0 }
        return Int(try PCMFailure.check("read", Int32(clamping: result)))
    }
}

/// A call of alsa-lib that failed.
struct PCMFailure: Error {
    var call: String
    /// The negative error number.
    var code: Int32

    /// Returns the result, or throws if it is negative.
    @discardableResult
    static func check(_ call: String, _ result: Int32) throws(PCMFailure) -> Int32 {
        guard result >= 0 else { throw PCMFailure(call: call, code: result) }
        return result
    }

    /// Whether the device no longer exists.
    var isDisconnected: Bool { [-ENODEV, -ENOENT, -ENXIO, -ESHUTDOWN].contains(code) }

    /// The call and alsa-lib's description.
    var reason: String { "\(call): \(String(cString: snd_strerror(code)))" }

    /// Returns the error for applications.
    func error(of address: MicrophoneAddress) -> DeviceError {
        let device = address.description
        // alsa-lib reports a card that may not be opened as missing.
        if [-EACCES, -EPERM].contains(code) || isDisconnected && address.isForbidden {
            return .forbidden(device, group: address.group)
        }
        return switch code {
        // EBUSY comes from configuring the device, not from opening it. Some plugins report EAGAIN instead in
        // non-blocking mode.
        case -EBUSY, -EAGAIN: .busy(device)
        case -ECONNREFUSED, -EHOSTDOWN: .faulty(device, reason: "its audio server does not respond")
        case _ where isDisconnected: .notFound(device, lookedIn: "/dev/snd")
        default: .faulty(device, reason: reason)
        }
    }
}

/// The format of a device's samples.
enum SampleFormat: CaseIterable {
    case signed16
    case signed32
    case float
    /// Three bytes.
    case packed24
    /// The lower three of four bytes.
    case signed24

    /// The formats in order of preference, with no more bytes than useful.
    static let preferred: [SampleFormat] = [.signed16, .signed32, .float, .packed24, .signed24]

    init?(_ format: snd_pcm_format_t) {
        guard let match = Self.allCases.first(where: { $0.alsa == format }) else { return nil }
        self = match
    }

    var alsa: snd_pcm_format_t {
        switch self {
        case .signed16: SND_PCM_FORMAT_S16_LE
        case .signed32: SND_PCM_FORMAT_S32_LE
        case .float: SND_PCM_FORMAT_FLOAT_LE
        case .packed24: SND_PCM_FORMAT_S24_3LE
        case .signed24: SND_PCM_FORMAT_S24_LE
        }
    }

    var bytes: Int {
        switch self {
        case .signed16: 2
        case .packed24: 3
        case .signed32, .float, .signed24: 4
        }
    }

    /// Converts the samples to numbers from -1 to 1.
    func floats(_ bytes: UnsafeRawBufferPointer, into samples: inout [Float]) {
        let count = bytes.count / self.bytes
        samples.removeAll(keepingCapacity: true)
        samples.reserveCapacity(count)
        for index in 0..<count { samples.append(value(bytes, index * self.bytes)) }
    }

    @inline(__always)
    private func value(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Float {
        switch self {
        case .signed16:
            return Float(Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int16.self))) / 32_768
        case .signed32:
            return Float(Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)))
                / 2_147_483_648
        case .float:
            let bits = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            let value = Float(bitPattern: bits)
            return value.isFinite ? value : 0
        case .packed24:
            let high = UInt32(bytes[offset + 2]) << 24
            let low = UInt32(bytes[offset + 1]) << 16 | UInt32(bytes[offset]) << 8
            return Float(Int32(bitPattern: high | low)) / 2_147_483_648
        case .signed24:
            let word = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            return Float(Int32(bitPattern: word << 8)) / 2_147_483_648
        }
    }
}
