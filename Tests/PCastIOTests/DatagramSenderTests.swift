import Glibc
import PCastCore
import Testing

@testable import PCastIO

@Suite("Sending datagrams", .timeLimit(.minutes(5)))
struct DatagramSenderTests {
    private let socket: UDPSocket
    private let peer = TestSocket.udp()
    private let path: NetworkPath
    private let now = Instant(nanoseconds: 0)

    init() throws {
        socket = try UDPSocket(binding: TransportAddress("127.0.0.1:0")!, bufferSize: 1 << 20)
        path = NetworkPath(local: socket.address, remote: peer.address)
    }

    private func batch(_ sizes: [Int]) -> DatagramBatch {
        var batch = DatagramBatch()
        for (index, size) in sizes.enumerated() {
            let added = batch.append([UInt8](repeating: UInt8(truncatingIfNeeded: index), count: size), to: path)
            precondition(added)
        }
        return batch
    }

    private func expectArrival(_ sizes: [Int]) {
        for (index, size) in sizes.enumerated() {
            #expect(peer.receive()?.bytes == [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: size))
        }
    }

    @Test("a run has datagrams of one size, ends with the first shorter one, and arrives unmodified")
    func segmentationRuns() {
        let sizes = [1000, 1000, 1000, 400, 1000, 1001, 1, 0, 5]
        var sender = DatagramSender()
        sender.send(batch(sizes), over: [socket], at: now)
        // Runs: 1000 1000 1000 400 | 1000 | 1001 1 | 0 | 5
        #expect(sender.counts.segmentedMessages == 2)
        #expect(sender.counts.segments == 6)
        #expect(sender.counts.sent == 9)
        expectArrival(sizes)
    }

    @Test("a message has at most sixty-four segments and 65,000 bytes", arguments: [(100, 2), (1200, 3)])
    func limits(size: Int, messages: Int) {
        var sender = DatagramSender()
        sender.send(batch(Array(repeating: size, count: 120)), over: [socket], at: now)
        #expect(sender.counts.segmentedMessages == messages)
        #expect(sender.counts.segments == 120)
        #expect(sender.counts.sent == 120)
        expectArrival(Array(repeating: size, count: 120))
    }

    @Test("the kernel may fragment datagrams while that is allowed")
    func fragments() {
        func discovery() -> Int32 {
            var value: Int32 = -1
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(socket.number, Int32(IPPROTO_IP), IP_MTU_DISCOVER, &value, &size)
            return value
        }
        #expect(discovery() == IP_PMTUDISC_DO)
        #expect(socket.allowingFragments { discovery() } == IP_PMTUDISC_WANT)
        #expect(discovery() == IP_PMTUDISC_DO)
    }

    @Test("a run ends where the path changes")
    func pathChange() {
        let other = TestSocket.udp()
        var batch = DatagramBatch()
        for index in 0..<6 {
            let remote = index < 3 ? peer.address : other.address
            let added = batch.append([UInt8(index)], to: NetworkPath(local: socket.address, remote: remote))
            #expect(added)
        }
        var sender = DatagramSender()
        sender.send(batch, over: [socket], at: now)
        #expect(sender.counts.segmentedMessages == 2)
        #expect((0..<3).map { _ in peer.receive()?.bytes } == [[0], [1], [2]])
        #expect((0..<3).map { _ in other.receive()?.bytes } == [[3], [4], [5]])
    }

    @Test(
        "rejected segments are sent singly at once, and the route does without segmentation for a while",
        arguments: [EIO, EINVAL])
    func rejectedSegments(error: Int32) {
        let sizes = [900, 900, 900, 100]
        var sender = DatagramSender(fault: .segmentation(errno: error))
        sender.send(batch([5] + sizes), over: [socket], at: now)
        expectArrival([5] + sizes)
        #expect(sender.counts.sent == 5)
        #expect(sender.counts.segmentationRefusals == 1)

        sender.send(batch(sizes), over: [socket], at: now + .seconds(59))
        expectArrival(sizes)
        #expect(sender.counts.segmentationRefusals == 1)

        sender.send(batch(sizes), over: [socket], at: now + .seconds(60))
        expectArrival(sizes)
        #expect(sender.counts.segmentationRefusals == 2)
        #expect(sender.counts.sent == 13)
        #expect(sender.counts.errors == 0)
        #expect(sender.counts.segmentedMessages == 0)
    }

    @Test("a datagram that does not fit is counted as such, and does not disable segmentation")
    func oversizedDatagram() {
        let sizes = [1500, 1500]
        var sender = DatagramSender(fault: .segmentation(errno: EMSGSIZE))
        sender.send(batch(sizes), over: [socket], at: now)
        expectArrival(sizes)
        #expect(sender.counts.segmentationRefusals == 0)
        #expect(sender.counts.sent == 2)
    }

    @Test("an unreachable destination loses only its own datagram")
    func unreachableDestination() {
        var batch = DatagramBatch()
        for (index, remote) in [peer.address, TransportAddress("255.255.255.255:9")!, peer.address].enumerated() {
            let added = batch.append([UInt8(index)], to: NetworkPath(local: socket.address, remote: remote))
            #expect(added)
        }
        var sender = DatagramSender()
        sender.send(batch, over: [socket], at: now)
        #expect(sender.counts.sent == 2)
        #expect(sender.counts.errors == 1)
        #expect(peer.receive()?.bytes == [0])
        #expect(peer.receive()?.bytes == [2])
    }

    @Test("a datagram from an address without a socket is an error")
    func noSocket() {
        var batch = DatagramBatch()
        let foreign = NetworkPath(local: TransportAddress("192.0.2.1:1")!, remote: peer.address)
        let added = batch.append([1], to: foreign)
        #expect(added)
        var sender = DatagramSender()
        sender.send(batch, over: [socket], at: now)
        #expect(sender.counts.errors == 1)
    }

    @Test("the table of routes without segmentation is bounded")
    func routesAreBounded() {
        var routes = GSOSupport()
        for index in 0..<2000 {
            let remote = TransportAddress(ip: IPAddress(v4: UInt32(index)), port: 1)
            routes.refuseSegmentation(on: NetworkPath(local: socket.address, remote: remote), at: now)
        }
        #expect(routes.count == GSOSupport.capacity)
    }

    @Test("the sizes of socket buffers are read back, and a shortfall is reported with its remedy")
    func socketBufferSizes() throws {
        #expect(socket.bufferSizes.receive >= 200_000)
        let wanting = try UDPSocket(binding: TransportAddress("127.0.0.1:0")!, bufferSize: Int(Int32.max))
        if wanting.bufferSizes.receive < Int(Int32.max) {
            #expect(wanting.bufferWarning?.contains("net.core.rmem_max") == true)
        }
    }

    @Test("a datagram larger than the buffer is recognized as truncated")
    func truncatedDatagram() {
        var receiver = DatagramReceiver()
        peer.send([UInt8](repeating: 1, count: 3000), to: socket.address)
        peer.send([UInt8](repeating: 2, count: 2048), to: socket.address)
        #expect(receiver.receive(from: socket) == 2)
        #expect(receiver.datagram(0)?.isTruncated == true)
        #expect(receiver.datagram(1)?.isTruncated == false)
        #expect(receiver.datagram(1)?.bytes.count == 2048)
        #expect(receiver.datagram(1)?.remote == peer.address)
        #expect(receiver.datagram(1)?.arrival != nil)
    }

    @Test("datagrams that waited have their own arrival times")
    func arrivalTimes() throws {
        var receiver = DatagramReceiver()
        // The kernel starts to record times shortly after the first socket requests them.
        for attempt in 1... {
            try #require(attempt <= 1_000, "the kernel did not record arrival times")
            peer.send([0], to: socket.address)
            FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(5))
            #expect(receiver.receive(from: socket) == 1)
            let arrival = try #require(receiver.datagram(0)?.arrival)
            if MonotonicClock.reference().wallTime(at: MonotonicClock.now()) - arrival >= .milliseconds(4) { break }
        }
        peer.send([1], to: socket.address)
        FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(30))
        peer.send([2], to: socket.address)
        #expect(receiver.receive(from: socket) == 2)
        let first = try #require(receiver.datagram(0)?.arrival)
        let second = try #require(receiver.datagram(1)?.arrival)
        #expect(second - first >= .milliseconds(29))
    }
}
