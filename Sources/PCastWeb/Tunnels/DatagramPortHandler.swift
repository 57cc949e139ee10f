import NIOCore
import NIOPosix
import PCastCore

/// Forwards the datagrams that a UDP port receives, on the event loop of the port.
final class DatagramPortHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let received: ([UInt8], TransportAddress) -> Void

    init(received: @escaping ([UInt8], TransportAddress) -> Void) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        guard let from = TransportAddress(envelope.remoteAddress) else { return }
        received(Array(envelope.data.readableBytesView), from)
    }

    /// Ignores errors such as an ICMP "port unreachable". The sent datagram is lost like any other.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}

    /// The number of datagrams that one system call reads. Each has its own part of one buffer, and longer ones are
    /// truncated.
    private static let batchSize = 16
    private static let datagramSize = 2048
    /// The size of the kernel's buffers in bytes, which suffices for a burst of some frames.
    private static let kernelBuffer = 1 << 20

    /// Opens a free port at an IP address.
    static func open(
        at ip: IPAddress, on loop: any EventLoop, received: @escaping @Sendable ([UInt8], TransportAddress) -> Void
    ) -> EventLoopFuture<any Channel> {
        DatagramBootstrap(group: loop)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: batchSize * datagramSize))
            .channelOption(.socketOption(.so_rcvbuf), value: .init(kernelBuffer))
            .channelOption(.socketOption(.so_sndbuf), value: .init(kernelBuffer))
            .channelOption(.datagramVectorReadMessageCount, value: batchSize)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DatagramPortHandler(received: received))
                }
            }
            .bind(to: TransportAddress(ip: ip, port: 0).socketAddress)
    }
}

extension TransportAddress {
    /// Converts an address of SwiftNIO; nil if it is not an IP address.
    init?(_ address: SocketAddress?) {
        guard let address, let text = address.ipAddress, let port = address.port,
            // A zone is only valid on this host.
            let ip = IPAddress(String(text.prefix { $0 != "%" }))
        else { return nil }
        self.init(ip: ip, port: UInt16(truncatingIfNeeded: port))
    }

    var socketAddress: SocketAddress {
        guard let address = try? SocketAddress(ipAddress: ip.description, port: Int(port)) else {
            preconditionFailure("an IP address must be convertible")
        }
        return address
    }
}
