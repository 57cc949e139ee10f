import PCastCore
import PCastIO

/// The program that transcodes the AAC of publishers to Opus. A process of it runs for each publisher.
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

/// Transcodes the AAC of a publisher to Opus, once for all viewers.
///
/// A separate process decodes, because the platform decodes no media of publishers itself. After a crash, it is started
/// again, and the audio in between is lost. Its methods never wait.
final class AudioTranscoding: Sendable {
    private let process: MessageProcess
    private let configuration: Setting<[UInt8]>

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - program: The program.
    ///   - configuration: The AudioSpecificConfig (ISO/IEC 14496-3).
    ///   - onPacket: Called on a separate thread with each packet of Opus.
    /// - Throws: ``IOError`` if no thread can be created.
    init(
        _ program: AudioTranscodingConfiguration, configuration: [UInt8],
        onPacket: @escaping @Sendable (EncodedFrame) -> Void
    ) throws(IOError) {
        let current = Setting(configuration)
        self.configuration = current
        process = try MessageProcess(
            program.program, program.arguments, environment: JobEnvironment.make(),
            onStart: { [TranscodingMessage.configuration(current.value).encoded] },
            onMessage: { bytes in
                guard let message = TranscodingMessage(encoded: bytes), message.kind == .packet else { return }
                onPacket(
                    EncodedFrame(
                        codec: .opus, bytes: message.bytes, isKeyFrame: true,
                        timestamp: MediaTime(ticks: message.time, rate: .opus), captureTime: message.captureTime))
            })
    }

    /// Changes the AudioSpecificConfig of the following frames.
    func configure(_ configuration: [UInt8]) {
        self.configuration.value = configuration
        process.send(TranscodingMessage.configuration(configuration).encoded)
    }

    /// Transcodes a frame. It is dropped if the process does not run or is too slow.
    func send(_ bytes: [UInt8], time: TimeSpan, captureTime: WallTime) {
        process.send(
            TranscodingMessage(.frame, time: time.nanoseconds, captureTime: captureTime, bytes: bytes).encoded)
    }

    /// Ends the process.
    func close() { process.close() }
}
