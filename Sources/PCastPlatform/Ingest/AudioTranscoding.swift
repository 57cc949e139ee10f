import PCastCore
import PCastIO
import Synchronization

/// The program that transcodes the AAC of publishers to Opus. A process of it runs for each eight audio
/// tracks of an application.
public struct AudioTranscodingConfiguration: Hashable, Sendable {
    /// The path of the program.
    public var program: String
    /// The arguments of the program, `transcode-audio` for `pcast`.
    public var arguments: [String]

    /// Creates a configuration.
    public init(program: String, arguments: [String]) {
        self.program = program
        self.arguments = arguments
    }
}

/// Transcodes the AAC of a publisher to Opus, once for all viewers. Its methods never wait.
///
/// A publisher that sends much more than an encoder does, such as a file as fast as possible, loses frames. The other
/// publishers of the process are not affected.
final class AudioTranscoding: Sendable {
    private struct State {
        var allowance: TranscodingAllowance
        /// A configuration that the process has not received, because the publisher sends too much.
        var configuration: [UInt8]?
    }

    let process: AudioTranscodingProcess
    let application: ApplicationID
    private let number: UInt32
    private let pool: AudioTranscodingPool
    private let isClosed = Atomic(false)
    private let state: Mutex<State>

    fileprivate init(
        _ process: AudioTranscodingProcess, _ number: UInt32, of application: ApplicationID,
        in pool: AudioTranscodingPool
    ) {
        (self.process, self.number, self.application, self.pool) = (process, number, application, pool)
        state = Mutex(State(allowance: TranscodingAllowance(at: MonotonicClock.now())))
    }

    /// Changes the AudioSpecificConfig of the following frames.
    func configure(_ configuration: [UInt8]) {
        process.setConfiguration(configuration, of: number)
        state.withLock { $0.configuration = configuration }
    }

    /// Transcodes a frame. It is dropped if the process does not run or is too slow, or if the publisher sends too much.
    func send(_ bytes: [UInt8], time: TimeSpan, captureTime: WallTime) {
        let now = MonotonicClock.now()
        state.withLock { state in
            if let configuration = state.configuration {
                guard state.allowance.admitsConfiguration(at: now) else { return }
                process.send(.configuration(configuration, of: number))
                state.configuration = nil
            }
            guard state.allowance.admitsFrame(of: bytes.count, at: now) else { return }
            process.send(
                TranscodingMessage(.frame, of: number, time: time.nanoseconds, captureTime: captureTime, bytes: bytes))
        }
    }

    /// Ends transcoding. Further calls have no effect.
    func close() {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        pool.remove(number, of: application, from: process)
    }
}

/// The limit of the audio that one publisher sends to a process that others share: some seconds at once, and several times
/// as much as an encoder sends for longer.
struct TranscodingAllowance: Sendable {
    /// The time that a frame takes of the allowance: 250 frames per second. Encoders send 47 or 94, and 200 at most.
    static let frameCost = TimeSpan.milliseconds(4)
    /// A larger frame takes as much as several of this size, in bytes.
    static let frameSize = 2_048
    /// The time that a configuration takes, because a decoder and an encoder are opened.
    static let configurationCost = TimeSpan.milliseconds(64)
    /// The largest allowance: 256 frames, because an encoder sends seconds of audio at once after its uplink was interrupted.
    static let burst = TimeSpan.milliseconds(1_024)

    /// The time up to which the allowance is used.
    private var used: Instant

    /// Creates a complete allowance.
    init(at now: Instant) { used = now - Self.burst }

    /// Returns whether a frame with a size in bytes may be sent now, and counts it.
    mutating func admitsFrame(of size: Int, at now: Instant) -> Bool {
        admits(Self.frameCost * Int64(1 + size / Self.frameSize), at: now)
    }

    /// Returns whether a configuration may be sent now, and counts it.
    mutating func admitsConfiguration(at now: Instant) -> Bool { admits(Self.configurationCost, at: now) }

    private mutating func admits(_ cost: TimeSpan, at now: Instant) -> Bool {
        let start = max(used, now - Self.burst)
        guard start < now else { return false }
        used = start + cost
        return true
    }
}

/// The processes that transcode the AAC of publishers.
///
/// Separate processes decode, because the platform decodes no media of publishers itself. A process needs about ten
/// megabytes, so some streams of the same application share one. After a crash it is started again, and the audio of these
/// streams in between is lost. `TranscodingAllowance` keeps one stream from taking the time of the others.
final class AudioTranscodingPool: Sendable {
    private let program: AudioTranscodingConfiguration
    private let processes = Mutex<[ApplicationID: [AudioTranscodingProcess]]>([:])

    init(_ program: AudioTranscodingConfiguration) { self.program = program }

    /// The number of processes for an application.
    func processCount(of application: ApplicationID) -> Int { processes.withLock { $0[application]?.count ?? 0 } }

    /// Begins to transcode the audio of a publisher.
    ///
    /// - Parameters:
    ///   - application: The application of the publisher.
    ///   - configuration: The AudioSpecificConfig (ISO/IEC 14496-3).
    ///   - onPacket: Called on a separate thread with each packet of Opus. It returns without blocking.
    /// - Returns: The transcoding, which the caller closes.
    /// - Throws: ``IOError`` if no thread can be created.
    func begin(
        for application: ApplicationID, configuration: [UInt8], onPacket: @escaping @Sendable (EncodedFrame) -> Void
    ) throws(IOError) -> AudioTranscoding {
        let stream = TranscodedStreams.Stream(configuration: configuration, onPacket: onPacket)
        let result: Result<AudioTranscoding, IOError> = processes.withLock { processes in
            // The audio of a stream may crash a process again and again, and would interrupt further ones.
            for process in processes[application] ?? [] where !process.wasRestarted {
                guard let number = process.streams.add(stream) else { continue }
                return .success(AudioTranscoding(process, number, of: application, in: self))
            }
            do throws(IOError) {
                let process = try AudioTranscodingProcess(program)
                processes[application, default: []].append(process)
                guard let number = process.streams.add(stream) else {
                    preconditionFailure("a new process must accept a stream")
                }
                return .success(AudioTranscoding(process, number, of: application, in: self))
            } catch {
                return .failure(error)
            }
        }
        let transcoding = try result.get()
        // A process that already runs receives it before the first frame.
        transcoding.configure(configuration)
        return transcoding
    }

    fileprivate func remove(_ number: UInt32, of application: ApplicationID, from process: AudioTranscodingProcess) {
        let isUnused = processes.withLock { processes in
            guard process.streams.remove(number) else { return false }
            processes[application]?.removeAll { $0 === process }
            if processes[application]?.isEmpty == true { processes[application] = nil }
            return true
        }
        if isUnused { process.close() } else { process.send(.end(of: number)) }
    }
}

/// A process that transcodes the AAC of some publishers of one application.
final class AudioTranscodingProcess: Sendable {
    let streams: TranscodedStreams
    private let process: MessageProcess

    /// Starts the process. Throws ``IOError`` if no thread can be created.
    fileprivate init(_ program: AudioTranscodingConfiguration) throws(IOError) {
        let streams = TranscodedStreams()
        self.streams = streams
        process = try MessageProcess(
            program.program, program.arguments, environment: JobEnvironment.make(),
            onStart: { streams.configurations.map(\.encoded) }, onMessage: { streams.receive($0) })
    }

    /// Whether the process has ended, and was started again.
    var wasRestarted: Bool { process.startCount > 1 }

    fileprivate func setConfiguration(_ configuration: [UInt8], of number: UInt32) {
        streams.setConfiguration(configuration, of: number)
    }

    /// Sends a message. Without space for it, a frame is dropped. Other messages must not be lost, so the process is started
    /// again with the configurations of its streams.
    fileprivate func send(_ message: TranscodingMessage) {
        process.send(message.encoded, isRequired: message.kind != .frame)
    }

    fileprivate func close() { process.close() }
}

/// The streams that a process transcodes.
final class TranscodedStreams: Sendable {
    struct Stream: Sendable {
        /// The AudioSpecificConfig, which the process receives at each start.
        var configuration: [UInt8]
        let onPacket: @Sendable (EncodedFrame) -> Void
    }

    private struct State {
        var streams: [UInt32: Stream] = [:]
        var next: UInt32 = 0
    }

    /// The maximum number of streams of a process.
    static let capacity = 8

    private let state = Mutex(State())

    /// The messages with which a process begins.
    var configurations: [TranscodingMessage] {
        state.withLock { state in
            state.streams.map { TranscodingMessage.configuration($0.value.configuration, of: $0.key) }
        }
    }

    /// Adds a stream. Returns its number; nil if the process has enough streams.
    func add(_ stream: Stream) -> UInt32? {
        state.withLock { state in
            guard state.streams.count < Self.capacity else { return nil }
            // A number is used once, because packets of a stream that has ended may still arrive.
            repeat { state.next &+= 1 } while state.streams[state.next] != nil
            state.streams[state.next] = stream
            return state.next
        }
    }

    func setConfiguration(_ configuration: [UInt8], of number: UInt32) {
        state.withLock { $0.streams[number]?.configuration = configuration }
    }

    /// Removes a stream. Returns whether none is left.
    func remove(_ number: UInt32) -> Bool {
        state.withLock { state in
            state.streams[number] = nil
            return state.streams.isEmpty
        }
    }

    /// Passes on a message of the process to its stream. Malformed messages and those of other streams have no effect.
    func receive(_ bytes: [UInt8]) {
        guard let message = TranscodingMessage(encoded: bytes), message.kind == .packet,
            let onPacket = state.withLock({ $0.streams[message.stream]?.onPacket })
        else { return }
        onPacket(
            EncodedFrame(
                codec: .opus, bytes: message.bytes, isKeyFrame: true,
                timestamp: MediaTime(ticks: message.time, rate: .opus), captureTime: message.captureTime))
    }
}
