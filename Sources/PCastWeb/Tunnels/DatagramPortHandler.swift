import NIOCore
import NIOPosix
import PCastMedia

/// Hands on what comes to a UDP port, on the port's event loop.
final class DatagramPortHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let received: ([UInt8], TransportAddress) -> Void

    init(received: @escaping ([UInt8], TransportAddress) -> Void) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        guard let from = TransportAddress(envelope.remoteAddress) else { return }
        received(Array(envelope.data.readableBytesView), from)
    }

    /// Such as a port of nobody, which is told by ICMP: what was sent is lost, as any datagram may be.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}

    /// Read in one call, each into its part of one buffer; longer ones than any of ours are cut.
    private static let batchSize = 16
    private static let datagramSize = 2048
    /// As many as a burst of some frames.
    private static let kernelBuffer = 1 << 20

    /// Opens a port at `ip`.
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
