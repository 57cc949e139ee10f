import PCastCore
import PCastIO
import Synchronization

/// The program that transcodes the AAC of publishers to Opus. A process of it runs for each eight publishers of an
/// application.
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
final class AudioTranscoding: Sendable {
    let process: AudioTranscodingProcess
    let application: ApplicationID
    private let number: UInt32
    private let pool: AudioTranscodingPool
    private let isClosed = Atomic(false)

    fileprivate init(
        _ process: AudioTranscodingProcess, _ number: UInt32, of application: ApplicationID,
        in pool: AudioTranscodingPool
    ) {
        (self.process, self.number, self.application, self.pool) = (process, number, application, pool)
    }

    /// Changes the AudioSpecificConfig of the following frames.
    func configure(_ configuration: [UInt8]) { process.configure(number, with: configuration) }

    /// Transcodes a frame. It is dropped if the process does not run or is too slow.
    func send(_ bytes: [UInt8], time: TimeSpan, captureTime: WallTime) {
        process.send(
            TranscodingMessage(.frame, of: number, time: time.nanoseconds, captureTime: captureTime, bytes: bytes))
    }

    /// Ends transcoding. Further calls have no effect.
    func close() {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        pool.remove(number, of: application, from: process)
    }
}

/// The processes that transcode the AAC of publishers.
///
/// Separate processes decode, because the platform decodes no media of publishers itself. A process needs about ten
/// megabytes, so some streams of the same application share one. After a crash it is started again, and the audio of these
/// streams in between is lost.
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
            for process in processes[application] ?? [] {
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
        // A process that already runs has not received it.
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

    fileprivate func configure(_ number: UInt32, with configuration: [UInt8]) {
        streams.setConfiguration(configuration, of: number)
        send(.configuration(configuration, of: number))
    }

    fileprivate func send(_ message: TranscodingMessage) { process.send(message.encoded) }

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
