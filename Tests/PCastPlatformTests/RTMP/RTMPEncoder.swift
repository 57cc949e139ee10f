import NIOCore
import NIOPosix
import PCastRTMP
import Synchronization

/// An encoder that publishes by RTMP over a real connection.
final class RTMPEncoder: Sendable {
    private struct State {
        var received: [UInt8] = []
        var isClosed = false
    }

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        let state = Mutex(State())

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data).readableBytesView
            state.withLock { $0.received += bytes }
        }

        func channelInactive(context: ChannelHandlerContext) { state.withLock { $0.isClosed = true } }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// A sequence parameter set of 64x48 and a picture parameter set, in an AVCDecoderConfigurationRecord.
    private static let record: [UInt8] =
        [1, 0x42, 0xC0, 0x1F, 0xFF, 0xE1, 0, 7] + [0x67, 0x42, 0xC0, 0x1F, 0xDA, 0x11, 0xE4]
        + [1, 0, 4] + [0x68, 0xCE, 0x3C, 0x80]

    private let channel: any Channel
    private let collector: Collector

    private init(_ channel: any Channel, _ collector: Collector) {
        (self.channel, self.collector) = (channel, collector)
    }

    /// Connects to a port, and requests to publish. `capabilities` are those of Enhanced RTMP (`capsEx`); nil for legacy RTMP.
    static func publish(
        _ key: String, to port: Int, application: String = "ingest",
        capabilities: RTMPClientInformation.Capabilities? = nil
    ) async throws -> RTMPEncoder {
        let collector = Collector()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { $0.pipeline.addHandler(collector) }
            .connect(host: "127.0.0.1", port: port).get()
        let encoder = RTMPEncoder(channel, collector)
        try await encoder.send([3] + [UInt8](repeating: 0, count: 2 * 1_536))
        var properties: AMF0Object = ["app": .string(application)]
        if let capabilities {
            properties.properties.append(.init(name: "capsEx", value: .number(Double(capabilities.rawValue))))
        }
        try await encoder.call("connect", 1, [.object(properties)])
        try await encoder.call("createStream", 2, [.null])
        try await encoder.call("publish", 3, [.null, .string(key), .string("live")], stream: 1)
        return encoder
    }

    // MARK: Sending

    private func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    private func send(_ message: RTMPMessage) async throws {
        var bytes: [UInt8] = []
        RTMPChunkWriter().write(message, chunkStream: 3, into: &bytes)
        try await send(bytes)
    }

    func call(_ name: String, _ transaction: Double, _ arguments: [AMF0Value], stream: UInt32 = 0) async throws {
        try await send(
            RTMPMessage(
                type: .command, streamID: stream,
                payload: RTMPCommand(name, transaction: transaction, arguments).payload))
    }

    /// Sends the configuration of H.264, and declares that there is no audio.
    func sendConfiguration() async throws {
        try await sendMetadata()
        try await sendVideo([0x17, 0, 0, 0, 0] + Self.record)
    }

    /// Sends a message of video.
    func sendVideo(_ payload: [UInt8], timestamp: UInt32 = 0) async throws {
        try await send(RTMPMessage(type: .video, streamID: 1, timestamp: timestamp, payload: payload))
    }

    /// Declares one video track, and no audio.
    func sendMetadata() async throws {
        let metadata: AMF0Object = ["videocodecid": .number(7), "width": .number(64), "height": .number(48)]
        try await send(
            RTMPMessage(
                type: .data, streamID: 1,
                payload: AMF0Writer.bytes([.string("@setDataFrame"), .string("onMetaData"), .object(metadata)])))
    }

    /// Sends a frame of H.264, whose slices are not decodable.
    func sendFrame(isKeyFrame: Bool, timestamp: UInt32) async throws {
        let unit: [UInt8] = isKeyFrame ? [0x65, 0x88, 0x84, 1, 2, 3] : [0x41, 0x9A, 1, 2, 3, 4]
        try await sendVideo(
            [isKeyFrame ? 0x17 : 0x27, 1, 0, 0, 0, 0, 0, 0, UInt8(unit.count)] + unit, timestamp: timestamp)
    }

    /// Ends the stream with the commands of FFmpeg.
    func unpublish() async throws {
        try await call("FCUnpublish", 4, [.null, .string("key")])
        try await call("deleteStream", 5, [.null, .number(1)])
    }

    func close() async throws { try await channel.close() }

    // MARK: Receiving

    /// Waits until the platform has accepted or rejected the publisher. Returns whether it has accepted it.
    func isAccepted() async throws -> Bool {
        _ = try await eventually { self.hasReceived("NetStream.Publish.Start") || self.isClosed }
        return hasReceived("NetStream.Publish.Start")
    }

    var isClosed: Bool { collector.state.withLock { $0.isClosed } }

    /// Returns whether a text is in the bytes that were received.
    func hasReceived(_ text: String) -> Bool {
        collector.state.withLock { $0.received.contains(Array(text.utf8)) }
    }

    func receives(_ text: String) async throws -> Bool { try await eventually { self.hasReceived(text) } }
}
