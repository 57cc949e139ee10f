package import NIOCore
import NIOWebSocket

/// A text that a server sends on many WebSockets. It is encoded once as a frame whose bytes all connections share, so
/// that each transmission needs only one system call.
package struct SharedText: Sendable {
    let frame: ByteBuffer

    /// Creates a text from UTF-8.
    package init(_ bytes: [UInt8]) {
        // A final text frame without a mask (RFC 6455, section 5.2).
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

    /// The size of the frame in bytes.
    package var byteCount: Int { frame.readableBytes }
}

extension WebSocketConnection {
    /// The event loop of the connection. A caller that posts to many connections should do so on their loops.
    package var eventLoop: any EventLoop { channel.eventLoop }

    /// Sends a text after those that were posted before. Only servers may use it, because the frame is not masked.
    /// `completion` is called on the connection's event loop with true when the kernel has accepted all bytes, or with
    /// false if the connection is broken.
    package func post(_ text: SharedText, completion: @escaping @Sendable (Bool) -> Void) {
        let loop = channel.eventLoop
        guard loop.inEventLoop else { return loop.execute { post(text, completion: completion) } }
        // The text is encoded already, so it is inserted after the frame encoder.
        guard let encoder = try? channel.pipeline.syncOperations.context(handlerType: WebSocketFrameEncoder.self) else {
            return completion(false)
        }
        let sent = loop.makePromise(of: Void.self)
        sent.futureResult.whenComplete { result in
            if case .success = result { completion(true) } else { completion(false) }
        }
        encoder.writeAndFlush(NIOAny(text.frame), promise: sent)
    }

    /// Sends a ping without waiting for its transmission. The client responds with a pong.
    package func postPing() {
        channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer()), promise: nil)
    }

    /// Sends a close frame after the posted texts and closes the connection. Only servers may use it. `status` is the
    /// one of ``close(status:reason:)``.
    package func postClose(status: UInt16) {
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: ByteBuffer(integer: status))
        let channel = channel
        channel.writeAndFlush(frame).whenComplete { _ in channel.close(promise: nil) }
    }
}
