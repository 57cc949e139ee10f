public import NIOCore
import NIOWebSocket

/// A text that is made once and sent on many WebSockets by a server: as the frame that goes over the wire, whose bytes are
/// shared, so that to send it to one more is one call of the system.
public struct SharedText: Sendable {
    let frame: ByteBuffer

    /// - Parameter bytes: in UTF-8.
    public init(_ bytes: [UInt8]) {
        // A whole text without a mask (RFC 6455, section 5.2).
        var frame = ByteBuffer()
        frame.reserveCapacity(minimumWritableBytes: bytes.count + 10)
        frame.writeInteger(0x81 as UInt8)
        switch bytes.count {
        case ...125: frame.writeInteger(UInt8(bytes.count))
        case ...0xFFFF:
            frame.writeInteger(126 as UInt8)
            frame.writeInteger(UInt16(bytes.count))
        default:
            frame.writeInteger(127 as UInt8)
            frame.writeInteger(UInt64(bytes.count))
        }
        frame.writeBytes(bytes)
        self.frame = frame
    }

    public var byteCount: Int { frame.readableBytes }
}

extension WebSocketConnection {
    /// The thread that serves it. Who posts to many goes there first.
    public var eventLoop: any EventLoop { channel.eventLoop }

    /// Sends a text, behind those that were posted before; only a server does so, whose frames are not masked.
    ///
    /// - Parameter completion: called on the connection's thread when the system has taken all of it, or with false when the
    ///   connection is broken.
    public func post(_ text: SharedText, completion: @escaping @Sendable (Bool) -> Void) {
        let loop = channel.eventLoop
        guard loop.inEventLoop else { return loop.execute { post(text, completion: completion) } }
        // It is a frame already: it goes in where frames come out.
        guard let encoder = try? channel.pipeline.syncOperations.context(handlerType: WebSocketFrameEncoder.self) else {
            return completion(false)
        }
        let sent = loop.makePromise(of: Void.self)
        sent.futureResult.whenComplete { result in
            if case .success = result { completion(true) } else { completion(false) }
        }
        encoder.writeAndFlush(NIOAny(text.frame), promise: sent)
    }

    /// Asks a client for a sign of life, without waiting until that is sent.
    public func postPing() {
        channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer()), promise: nil)
    }

    /// Says goodbye behind what was posted, and ends the connection; for a server.
    ///
    /// - Parameter status: as of ``close(status:)``.
    public func postClose(status: UInt16) {
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: ByteBuffer(integer: status))
        let channel = channel
        channel.writeAndFlush(frame).whenComplete { _ in channel.close(promise: nil) }
    }
}
