import PCastCore
import PCastRTP
import PCastSFU
import PCastTestSupport
import PCastWebRTC

/// One end of a connection that has its keys. It sends arbitrary data with correct encryption.
struct AgreedEnd: ~Copyable {
    static let now = Instant(nanoseconds: 1_000_000_000_000)
    static let wallTime = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)
    static let clock = WallClockReference(instant: now, wallTime: wallTime)
    static let relayAddress = TransportAddress("192.0.2.10:8189")!
    static let peerAddress = TransportAddress("192.0.2.20:5000")!
    static let certificate = try? DTLSCertificate.generate(at: wallTime)
    static let stream = StreamID("film")

    private var transport: SecureTransport

    init(_ transport: consuming SecureTransport) { self.transport = transport }

    var isConnected: Bool { transport.isConnected }

    mutating func handle(_ bytes: [UInt8], from path: NetworkPath, at now: Instant) {
        var bytes = bytes
        bytes.withMutableByteView { _ = transport.handle($0, from: path, at: now) }
        while transport.pollEvent() != nil {}
    }

    mutating func advance(to now: Instant) { transport.advance(to: now) }

    /// Writes the checks and handshake that are to be sent.
    mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        transport.poll(into: &batch, at: now)
    }

    /// Returns an RTP packet as it is sent over the network; nil if it cannot be encrypted.
    mutating func protect(rtp packet: [UInt8]) -> [UInt8]? {
        guard packet.count >= 12, packet.count <= 1_400 else { return nil }
        // The receiver also checks the clear part of the packet. If its fields exceed the packet, only the fixed header
        // is clear.
        var headerSize = 12 + 4 * Int(packet[0] & 0x0F)
        if packet[0] & 0x10 != 0, packet.count >= headerSize + 4 {
            headerSize += 4 + 4 * (Int(packet[headerSize + 2]) << 8 | Int(packet[headerSize + 3]))
        }
        return protect(packet) { transport, room in
            transport.protectRTP(
                room, length: packet.count, headerSize: headerSize <= packet.count ? headerSize : 12)
        }
    }

    mutating func protect(rtcp packet: [UInt8]) -> [UInt8]? {
        guard packet.count >= 8, packet.count <= 1_400 else { return nil }
        return protect(packet) { transport, room in transport.protectRTCP(room, length: packet.count) }
    }

    private mutating func protect(
        _ packet: [UInt8], _ body: (inout SecureTransport, MutableByteView) -> Int
    ) -> [UInt8]? {
        var room = packet + [UInt8](repeating: 0, count: 2_048 - packet.count)
        let length = room.withMutableByteView { body(&transport, $0) }
        return length > 0 ? Array(room[..<length]) : nil
    }
}

/// A machine that receives the packets of an `AgreedEnd`.
struct AgreedSession<Machine: DatagramMachine & ~Copyable>: ~Copyable {
    var machine: Machine
    private(set) var now = AgreedEnd.now
    private var end: AgreedEnd
    private let path: NetworkPath
    private let back: NetworkPath
    private var batch = DatagramBatch()
    private let drainOutputs: (inout Machine, Instant) throws(BrokenInvariant) -> Void

    /// Creates a session without keys. `drainOutputs` polls what the machine reports besides datagrams.
    init(
        _ machine: consuming Machine, at address: TransportAddress, with end: consuming AgreedEnd,
        at remoteAddress: TransportAddress,
        drainOutputs: @escaping (inout Machine, Instant) throws(BrokenInvariant) -> Void
    ) {
        self.machine = machine
        self.end = end
        path = NetworkPath(local: address, remote: remoteAddress)
        back = NetworkPath(local: remoteAddress, remote: address)
        self.drainOutputs = drainOutputs
    }

    /// Lets the end and the machine connect.
    mutating func processHandshakes() throws(BrokenInvariant) {
        for _ in 0..<200 where !end.isConnected {
            machine.advance(to: now)
            for datagram in try drain() { end.handle(datagram, from: back, at: now) }
            end.advance(to: now)
            _ = end.poll(into: &batch, at: now)
            let answers = (0..<batch.count).map { Array(batch.bytes(of: batch[$0])) }
            batch.removeAll()
            for answer in answers { deliver(answer) }
            now += .milliseconds(1)
        }
        try check(end.isConnected, "no keys are agreed on")
    }

    /// Sends the packets with their pauses, and lets time pass. Returns whether one of them could be encrypted.
    mutating func send(_ packets: AgreedPackets) throws(BrokenInvariant) -> Bool {
        var packets = packets
        var isHeard = false
        while let (packet, pause) = packets.next() {
            let protected =
                switch packet {
                case .rtp(let bytes): end.protect(rtp: bytes)
                case .rtcp(let bytes): end.protect(rtcp: bytes)
                }
            now += pause
            guard let protected else { continue }
            isHeard = true
            deliver(protected)
            _ = try drain()
            try advance()
        }
        now += .seconds(2)
        try advance()
        return isHeard
    }

    private mutating func deliver(_ datagram: [UInt8]) {
        var datagram = datagram
        datagram.withMutableByteView { machine.handle($0, from: path, at: now) }
    }

    /// Polls all outputs, and returns the datagrams.
    private mutating func drain() throws(BrokenInvariant) -> [[UInt8]] {
        var datagrams: [[UInt8]] = []
        var rounds = 0
        while true {
            let hasMore = machine.poll(into: &batch, at: now)
            for index in 0..<batch.count {
                let bytes = batch.bytes(of: batch[index])
                try check(bytes.count <= 1_500, "a datagram of \(bytes.count) bytes")
                datagrams.append(Array(bytes))
            }
            batch.removeAll()
            rounds += 1
            try check(rounds < 1_000, "there is always more to send")
            if !hasMore { break }
        }
        try drainOutputs(&machine, now)
        return datagrams
    }

    /// Advances the machine to all deadlines until now.
    private mutating func advance() throws(BrokenInvariant) {
        var rounds = 0
        while let deadline = machine.deadline, deadline <= now {
            machine.advance(to: now)
            _ = try drain()
            rounds += 1
            try check(rounds < 1_000, "a deadline does not move on")
        }
    }
}

/// The packets of an input: kinds, pauses, and the bytes that are encrypted.
struct AgreedPackets {
    enum Packet {
        case rtp([UInt8])
        case rtcp([UInt8])
    }

    private var input: FuzzInput
    private var count = 0

    init(_ input: FuzzInput) { self.input = input }

    /// Returns the next packet; nil at the end, or after the maximum number.
    mutating func next() -> (packet: Packet, pause: TimeSpan)? {
        guard !input.isAtEnd, count < 64 else { return nil }
        count += 1
        let operation = input.byte()
        let pause = TimeSpan.milliseconds(Int64(operation & 0x7E) * 2)
        let bytes = input.chunk()
        return (operation & 1 == 0 ? .rtp(bytes) : .rtcp(bytes), pause)
    }

    /// Returns the input from which `next` reads the packets.
    static func input(_ packets: [Packet]) -> [UInt8] {
        packets.flatMap { packet -> [UInt8] in
            switch packet {
            case .rtp(let bytes): [4] + FuzzInput.chunks([bytes])
            case .rtcp(let bytes): [5] + FuzzInput.chunks([bytes])
            }
        }
    }

    /// Edge cases of RTCP, each once.
    static let edges: [Packet] = [
        // REMB with the largest exponent and mantissa.
        .rtcp(hexadecimal("8fce0005 00001111 00000000 52454d42 01ffffff 00001111")),
        // Sender reports at the beginning and the end of time.
        .rtcp(hexadecimal("80c80006 00001111 00000000 00000000 00000000 00000000 00000000")),
        .rtcp(hexadecimal("80c80006 00001111 ffffffff ffffffff ffffffff ffffffff ffffffff")),
        // Transport-wide feedback of 65,535 packets without a chunk.
        .rtcp(hexadecimal("8fcd0004 00001111 00001111 0000ffff 00000000")),
        // Redundant blocks of 1,023 bytes that are missing.
        .rtp(hexadecimal("803f0001 00000000 00001113 effffbff effffbff 6f")),
        // The latest capture time, with each ID that an extension may have.
        .rtp([0x90, 0x60, 0, 2] + hexadecimal("00000bb8 00001111") + captureTimes + hexadecimal("10020300")),
        // Packets that contain only padding, and more than that.
        .rtp(hexadecimal("a0600003 00000bb8 00001111 10 ff")),
        .rtp(hexadecimal("a0600004 00000bb8 00001111") + [UInt8](repeating: 0, count: 254) + [255]),
        // A packet with fifteen contributing sources that are missing.
        .rtp(hexadecimal("8f600005 00000bb8 00001111")),
    ]

    /// Key frames of H.264, with the payload type of the offers. The parameter sets share a packet. There is an IDR
    /// slice, complete and in fragments, another slice, and a unit whose length exceeds its packet.
    static let h264: [Packet] = [
        .rtp(hexadecimal("80660001 00000bb8 00001111 78 0007 6742c01fda0280 0004 68ce3c80")),
        .rtp(hexadecimal("80e60002 00000bb8 00001111 65888401 020304")),
        .rtp(hexadecimal("80660003 00001770 00001111 6742c01fda0280")),
        .rtp(hexadecimal("80660004 00001770 00001111 68ce3c80")),
        .rtp(hexadecimal("80660005 00001770 00001111 7c85 8884010203")),
        .rtp(hexadecimal("80e60006 00001770 00001111 7c45 04050607")),
        .rtp(hexadecimal("80e60007 00002328 00001111 419a0102")),
        .rtp(hexadecimal("80e60008 00002ee0 00001111 78 ffff 65")),
    ]

    /// Extensions in the one-byte form, with sixteen bytes of ones each.
    private static var captureTimes: [UInt8] {
        let elements = (1...14).flatMap { [UInt8($0) << 4 | 15] + [UInt8](repeating: 0xFF, count: 16) }
        let padded = elements + [UInt8](repeating: 0, count: (4 - elements.count % 4) % 4)
        return [0xBE, 0xDE, 0, UInt8(padded.count / 4)] + padded
    }
}
