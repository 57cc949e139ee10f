import PCastCore
import PCastWebRTC
import Testing

@Suite struct STUNDiscoveryTests {
    private let path = NetworkPath(local: ICENetwork.clientAddress, remote: TransportAddress("192.0.2.1:3478")!)
    private let start = Instant(nanoseconds: 5)

    private func poll(_ discovery: inout STUNDiscovery, at now: Instant) -> [UInt8]? {
        let bytes = [UInt8](capacity: 256) { (buffer: MutableByteView) in
            discovery.poll(into: buffer, at: now) ?? 0
        }
        return bytes.isEmpty ? nil : bytes
    }

    @Test("the public address is read only from the response of the STUN server")
    func publicAddressResponse() throws {
        var discovery = STUNDiscovery(path: path, seed: 3, at: start)
        let bytes = try #require(poll(&discovery, at: start))
        let request = try #require(parsedSTUN(bytes))
        #expect(request.messageClass == .request && request.integrityOffset == nil)
        let address = TransportAddress("203.0.113.9:40000")!
        let foreign = stunMessage(.success) { $0.addMappedAddress(address) }
        let isForeignTaken = discovery.handle(parsedSTUN(foreign)!, from: path)
        #expect(!isForeignTaken)
        var answer = foreign
        answer.replaceSubrange(8..<20, with: bytes[8..<20])
        // The address is protected by the cookie only, because the fingerprint is cut off.
        answer = Array(answer[..<32])
        answer[3] = 12
        let other = NetworkPath(local: path.local, remote: TransportAddress("192.0.2.66:3478")!)
        let isOtherTaken = discovery.handle(parsedSTUN(answer)!, from: other)
        let hasSubscribers = discovery.handle(parsedSTUN(answer)!, from: path)
        #expect(!isOtherTaken && hasSubscribers)
        #expect(discovery.publicAddress == address)
        #expect(discovery.deadline == nil && !discovery.hasFailed)
    }

    @Test("an unanswered request is sent seven times with doubled intervals, and then fails")
    func retransmission() {
        var discovery = STUNDiscovery(path: path, seed: 3, at: start)
        var times: [Int64] = []
        while let now = discovery.deadline {
            discovery.advance(to: now)
            if poll(&discovery, at: now) != nil { times.append((now - start).nanoseconds / 1_000_000) }
        }
        #expect(times == [0, 500, 1500, 3500, 7500, 15500, 31500])
        #expect(discovery.hasFailed && discovery.publicAddress == nil)
    }
}
