public import NIOCore
import NIOWebSocket

/// A text that is made once and sent on many WebSockets; its bytes are shared.
public struct SharedText: Sendable {
    let frame: WebSocketFrame

    /// - Parameter bytes: in UTF-8.
    public init(_ bytes: [UInt8]) {
        frame = WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(bytes: bytes))
    }

    public var byteCount: Int { frame.length }
}

extension WebSocketConnection {
    /// The thread that serves it. Who posts to many goes there first.
    public var eventLoop: any EventLoop { channel.eventLoop }

    /// Sends a text, behind those that were posted before; only a server does so, whose frames are not masked.
    ///
    /// - Parameter completion: called on the connection's thread when the system has taken all of it, or with false when the
    ///   connection is broken.
    public func post(_ text: SharedText, completion: @escaping @Sendable (Bool) -> Void) {
        channel.writeAndFlush(text.frame).whenComplete { result in
            if case .success = result { completion(true) } else { completion(false) }
        }
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
