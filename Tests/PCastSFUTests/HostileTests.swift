import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Datagrams from unknown sources, and floods.
struct HostileTests {
    private func anyPath(_ network: VirtualNetwork) -> NetworkPath {
        let port = UInt16.random(in: 1...UInt16.max, using: &network.generator)
        let last = Int.random(in: 1...250, using: &network.generator)
        return NetworkPath(
            local: VirtualNetwork.relayAddress, remote: TransportAddress("198.51.100.\(last):\(port)")!)
    }

    private func anything(_ network: VirtualNetwork) -> [UInt8] {
        let count = Int.random(in: 0...300, using: &network.generator)
        var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &network.generator) }
        guard count > 2 else { return bytes }
        switch Int.random(in: 0..<5, using: &network.generator) {
        case 0: bytes[0] = 0x80
        case 1: bytes.replaceSubrange(0..<2, with: [0x81, 200])
        case 2: bytes.replaceSubrange(0..<2, with: [22, 0xFE])
        case 3: return check(recipient: "nobody\(count)", network)
        default: break
        }
        return bytes
    }

    private func check(recipient: String, _ network: VirtualNetwork) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: STUNMessage.maximumSize) { buffer, count in
            var writer = STUNMessageWriter(
                .request, transactionID: STUNTransactionID(high: 1, low: network.generator.next()),
                into: MutableByteView(buffer))
            writer.addUsername(recipient: Array(recipient.utf8), sender: Array("unknown".utf8))
            writer.addRole(.controlling(tieBreaker: 7))
            writer.addUseCandidate()
            count = writer.finish(key: Array("a-password-that-is-not-known".utf8))
        }
    }

    @Test("20,000 datagrams from unknown sources change no state, receive no answer and have no effect on peers")
    func unknownSourceDatagrams() throws {
        let network = VirtualNetwork(seed: 77)
        let publisher = try network.publish(.vp8)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        let paths = network.sfu.peers.paths.table.entries.count
        let ufrags = network.sfu.peers.ufrags.count
        let unknownSourceDatagrams = network.sfu.unknownSourceDatagrams
        var answers = 0
        network.onSending = { _, path in
            if !publisher.addresses.contains(path.remote), !viewer.addresses.contains(path.remote) { answers += 1 }
        }
        var broadcast = Broadcast(.vp8)
        for _ in 0..<40 {
            for _ in 0..<500 { network.inject(anything(network), from: anyPath(network)) }
            broadcast.send(1, from: publisher, by: network)
        }
        network.run(for: .milliseconds(200))
        #expect(viewer.video.count == 40)
        #expect(network.sfu.unknownSourceDatagrams == unknownSourceDatagrams + 20_000 && answers == 0)
        #expect(network.sfu.peers.paths.table.entries.count == paths && network.sfu.peers.ufrags.count == ufrags)
        #expect(network.sfu.forwarder.busyPeers.isEmpty && network.sfu.forwarder.timers.punctual.count < 300)
    }

    @Test("checks with a known ufrag and a wrong password bind no path and are not answered with more bytes")
    func wrongPassword() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        #expect(network.run { publisher.isConnected })
        let fragment = try #require(network.sfu.peers.ufrags.keys.first)
        let peerIndices = network.sfu.peers.paths.table.entries
        var bytesOut = 0
        var bytesIn = 0
        network.onSending = { bytes, path in
            if path.remote != publisher.addresses[0] { bytesOut += bytes.count }
        }
        for _ in 0..<500 {
            let request = check(recipient: fragment, network)
            bytesIn += request.count
            network.inject(request, from: anyPath(network))
        }
        #expect(network.sfu.peers.paths.table.entries == peerIndices)
        #expect(bytesOut <= bytesIn)
    }

    @Test("repeated handshakes from addresses that have passed no check are not answered")
    func unverifiedHandshakes() throws {
        let network = VirtualNetwork(seed: 80)
        var handshakes: [[UInt8]] = []
        network.onPeerSending = { bytes, _, _ in if bytes.first == 22 { handshakes.append(bytes) } }
        let publisher = try network.publish(.vp8)
        #expect(network.run { publisher.isConnected })
        #expect(!handshakes.isEmpty)
        let known = publisher.addresses
        var bytesOut = 0
        network.onSending = { bytes, path in if !known.contains(path.remote) { bytesOut += bytes.count } }
        for handshake in handshakes {
            for _ in 0..<200 { network.inject(handshake, from: anyPath(network)) }
        }
        network.run(for: .seconds(5))
        #expect(bytesOut == 0 && network.endedReason(of: publisher.id) == nil)
    }

    @Test("invalid datagrams on a peer's own path do not disturb its media")
    func garbageOnAKnownPath() throws {
        let network = VirtualNetwork(seed: 78)
        let publisher = try network.publish(.vp8)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        let known = [publisher, viewer].map {
            NetworkPath(local: VirtualNetwork.relayAddress, remote: $0.addresses[0])
        }
        var broadcast = Broadcast(.vp8)
        for _ in 0..<100 {
            for _ in 0..<40 { network.inject(anything(network), from: known[Int(network.generator.next() & 1)]) }
            broadcast.send(1, from: publisher, by: network)
        }
        network.run(for: .milliseconds(200))
        #expect(viewer.video.count == 100)
        #expect(network.endedReason(of: publisher.id) == nil && network.endedReason(of: viewer.id) == nil)
    }

    @Test("after a burst of 5000 packets, a viewer receives the log's contents from a key frame on")
    func burst() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var video = ScriptedVideo()
        video.send(isKeyFrame: true, from: publisher, by: network)
        for number in 0..<5000 { video.say(isKeyFrame: number % 1000 == 700, from: publisher) }
        network.injectUnpolled(publisher.takeQueue(), from: publisher)
        network.settleRelay()
        network.run(for: .milliseconds(50))
        // There is one packet before the burst, followed by those from key frame number 4700 on.
        #expect(viewer.packets.count == 1 + 300)
        #expect(Array(viewer.packets[1].payload[1...]) == video.frames[4701])
        #expect(viewer.packets.allSatisfy { $0.header.ssrc == viewer.packets[0].header.ssrc })
        let numbers = viewer.packets.map(\.header.sequenceNumber)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
    }

    @Test("endless requests for packets are answered within bounds")
    func requestFlood() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(100, from: publisher, by: network)
        let source = try #require(viewer.media(.video).remoteSources.first)
        let all = Array(viewer.packets(source.ssrc).map(\.header.sequenceNumber).suffix(200))
        for _ in 0..<20 {
            viewer.report { writer in
                writer.receiverReport(ssrc: 9)
                _ = writer.negativeAcknowledgement(senderSSRC: 9, mediaSSRC: source.ssrc, lost: all.span)
            }
        }
        network.deliverAll(viewer)
        network.run(for: .milliseconds(15))
        #expect(viewer.packets(source.rtxSSRC).count <= 200)
    }

    @Test("invalid packets of authenticated peers never trap and have no effect on other streams")
    func authenticatedNonsense() throws {
        let network = VirtualNetwork(seed: 79)
        let bystander = try network.publish(.vp8, stream: StreamID("other"))
        let watching = try network.view(stream: StreamID("other"))
        let publisher = try network.scriptPublisher(audio: true)
        let viewer = try network.scriptViewer()
        let client = try network.view()
        #expect(network.run { client.isConnected && watching.isConnected && publisher.isConnected })
        var broadcast = Broadcast(.vp8)
        let video = publisher.media(.video)
        let types: [UInt8] = [video.payloadType, video.rtxPayloadType ?? 0, publisher.media(.audio).payloadType, 99]
        let firstBytes: [UInt8] = [0x80, 0x90, 0xA0, 0xB1]
        for _ in 0..<40 {
            for _ in 0..<40 {
                let happens = network.generator.next()
                let (low, middle, high) = (Int(happens & 3), Int(happens >> 2 & 3), UInt8(happens >> 4 & 3))
                var packet = anything(network) + [UInt8](repeating: 1, count: 12)
                packet[0] = firstBytes[low]
                packet[1] = types[middle] | UInt8(happens >> 56 & 0x80)
                packet.replaceSubrange(8..<12, with: [0, 0, 0x11, 0x11 + high])
                publisher.say(plain: packet)
                var control = anything(network) + [UInt8](repeating: 0, count: 12)
                control[0] = 0x80 | UInt8(happens >> 8 & 31)
                control[1] = 200 + UInt8(happens >> 16 & 7)
                publisher.report(plain: control)
                viewer.report(plain: control)
            }
            network.deliverAll(publisher)
            network.deliverAll(viewer)
            broadcast.send(1, from: bystander, by: network)
        }
        network.run(for: .milliseconds(200))
        #expect(watching.video.map { broadcast.number(of: $0.frame) } == Array(0..<40))
        #expect(network.spins == 0)
    }
}
