import ArgumentParser
import Glibc
import PCastCodecs
import PCastCore
import PCastIO

/// The command `pcast transcode-audio`, which a platform starts for publishers that send AAC.
struct TranscodeAudioCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "transcode-audio",
        abstract: "Transcode the AAC of publishers to Opus for a platform, which starts this command.",
        discussion: "It exchanges messages over a socket, its standard input, and ends when the platform closes it.",
        shouldDisplay: false)

    /// The maximum size of the data of the process, in bytes.
    private static let memory: rlim_t = 512 << 20

    func run() async throws {
        // The audio comes from an untrusted client.
        var limit = rlimit(rlim_cur: Self.memory, rlim_max: Self.memory)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
        do throws(IOError) {
            Self.serve(try MessageSocket.inherited())
        } catch {
            throw CommandFailure(.failed, describing: error)
        }
    }

    /// Transcodes until the connection ends. A stream whose configuration cannot be decoded has no packets.
    private static func serve(_ socket: MessageSocket) {
        var transcoders: [UInt32: OpusTranscoder] = [:]
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: MessageSocket.maximumSize, alignment: 1)
        defer { buffer.deallocate() }
        while case let count = socket.receive(into: buffer), count > 0 {
            guard let message = TranscodingMessage(encoded: Array(buffer[..<count])) else { continue }
            switch message.kind {
            case .configuration: transcoders[message.stream] = try? OpusTranscoder(configuration: message.bytes)
            case .frame:
                // A frame that is damaged is left out.
                let packets = try? transcoders[message.stream]?.transcode(
                    message.bytes, time: TimeSpan(nanoseconds: message.time), captureTime: message.captureTime)
                for packet in packets ?? [] {
                    let answer = TranscodingMessage(
                        .packet, of: message.stream, time: packet.timestamp.ticks,
                        captureTime: packet.captureTime ?? message.captureTime, bytes: packet.bytes)
                    _ = socket.send(answer.encoded, waits: true)
                }
            case .end: transcoders[message.stream] = nil
            case .packet: break
            }
        }
    }
}
