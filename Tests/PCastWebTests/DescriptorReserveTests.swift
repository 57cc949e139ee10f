import NIOCore
import NIOEmbedded
import Testing

@testable import PCastWeb

/// Accepting connections while the process has few free descriptors.
@Suite struct DescriptorReserveTests {
    /// Counts the reads that reach the socket.
    private final class ReadCounter: ChannelOutboundHandler {
        typealias OutboundIn = Never

        private(set) var count = 0

        func read(context: ChannelHandlerContext) { count += 1 }
    }

    private final class Reserve {
        var isReached = false
    }

    @Test("connections wait while the reserve is used, and are accepted when descriptors are free again")
    func waits() throws {
        let (counter, reserve) = (ReadCounter(), Reserve())
        let channel = EmbeddedChannel(
            handlers: [counter, DescriptorReserveHandler { reserve.isReached }], loop: EmbeddedEventLoop())
        let first = counter.count
        channel.read()
        #expect(counter.count == first + 1)
        reserve.isReached = true
        for _ in 0..<3 { channel.read() }
        channel.embeddedEventLoop.advanceTime(by: DescriptorReserveHandler.pause * 5)
        #expect(counter.count == first + 1)
        reserve.isReached = false
        channel.embeddedEventLoop.advanceTime(by: DescriptorReserveHandler.pause)
        #expect(counter.count == first + 2)
        channel.read()
        #expect(counter.count == first + 3)
        _ = try channel.finish()
    }

    @Test("a closed channel counts no longer") func closed() throws {
        let (counter, reserve) = (ReadCounter(), Reserve())
        let channel = EmbeddedChannel(
            handlers: [counter, DescriptorReserveHandler { reserve.isReached }], loop: EmbeddedEventLoop())
        reserve.isReached = true
        channel.read()
        let before = counter.count
        _ = try channel.finish()
        reserve.isReached = false
        channel.embeddedEventLoop.advanceTime(by: DescriptorReserveHandler.pause * 2)
        #expect(counter.count == before)
    }
}
