import PCastCore
import Testing

@testable import PCastWebRTC

/// This project's client with its server, for the duration of a long call.
struct TURNClientTests {
    private struct Call {
        var stage = TURNTestSetup()
        var client: TURNClient
        var received: [[UInt8]] = []

        init(_ credentials: TURNCredentials, peer: TransportAddress = TURNTestSetup.peer) {
            client = TURNClient(credentials: credentials, peer: peer, seed: 4)
            stage.connect(1)
            client.connected(at: stage.now)
            releaseCall()
        }

        mutating func releaseCall() {
            for _ in 0..<20 {
                while let output = client.poll() {
                    switch output {
                    case .send(let bytes): stage.send(bytes, 1)
                    case .received(let bytes): received.append(bytes)
                    }
                }
                if let bytes = stage.streams.removeValue(forKey: 1) { client.received(bytes, at: stage.now) }
            }
        }

        mutating func run(_ span: TimeSpan) {
            let end = stage.now + span
            while let next = Instant.earlier(client.deadline, stage.server.deadline), next <= end {
                stage.now = max(stage.now, next)
                client.advance(to: stage.now)
                releaseCall()
                stage.server.advance(to: stage.now)
                stage.drain()
            }
            stage.now = end
        }

        mutating func exchange(_ byte: UInt8) -> Bool {
            client.send([byte, 1])
            releaseCall()
            stage.server.relayed([byte, 2], from: TURNTestSetup.peer, on: 1, at: stage.now)
            stage.drain()
            releaseCall()
            return stage.relayed.last?.bytes == [byte, 1] && received.last == [byte, 2]
        }
    }

    @Test("datagrams pass both ways after two requests, by SHA-256, and for hours")
    func lasts() {
        var call = Call(TURNTestSetup.credentials())
        #expect(call.client.state == .ready)
        #expect({ call.exchange(1) }())
        for hour in 2...6 as ClosedRange<UInt8> {
            call.run(.seconds(3600))
            #expect({ call.exchange(hour) }(), "an allocation continues after the credentials have expired")
        }
        #expect(call.stage.closed.isEmpty)
        call.client.close()
        call.releaseCall()
        #expect(call.stage.closed == [1] && call.stage.server.allocationCount == 0)
    }

    @Test("data before the channel exists waits for it")
    func early() {
        var stage = TURNTestSetup()
        stage.connect(1)
        var client = TURNClient(credentials: TURNTestSetup.credentials(), peer: TURNTestSetup.peer, seed: 1)
        for byte in 0..<20 as Range<UInt8> { client.send([byte]) }
        #expect(client.poll() == nil)
        client.connected(at: stage.now)
        for _ in 0..<10 {
            while case .send(let bytes) = client.poll() { stage.send(bytes, 1) }
            if let bytes = stage.streams.removeValue(forKey: 1) { client.received(bytes, at: stage.now) }
        }
        #expect(stage.relayed.map(\.bytes) == (4..<20).map { [$0] })
    }

    @Test("a refusal ends the allocation, and its code is reported")
    func refused() {
        let stale = TURNTestSetup.credentials(lasting: .seconds(-5))
        #expect(Call(stale).client.state == .failed(code: 401))
        let elsewhere = TransportAddress("192.0.2.99:8189")!
        #expect(Call(TURNTestSetup.credentials(), peer: elsewhere).client.state == .failed(code: 403))
    }

    @Test("a response that is not from the server is ignored")
    func forged() {
        var client = TURNClient(credentials: TURNTestSetup.credentials(), peer: TURNTestSetup.peer, seed: 1)
        var stage = TURNTestSetup()
        stage.connect(1)
        client.connected(at: stage.now)
        guard case .send(let first) = client.poll() else {
            Issue.record("there is no first request")
            return
        }
        stage.send(first, 1)
        client.received(stage.streams.removeValue(forKey: 1) ?? [], at: stage.now)
        guard case .send(let second) = client.poll(), let request = TURNMessage(second) else {
            Issue.record("there is no second request")
            return
        }
        let wrong = TURNKey(.sha256, username: "a", realm: "pcast", password: "b")
        for key in [nil, wrong] {
            var writer = TURNMessageWriter(.allocate, .success, request.transactionID)
            writer.add(TURNAttributeType.xorRelayedAddress, address: TURNTestSetup.peer)
            client.received(writer.finish(key), at: stage.now)
            #expect(client.state == .allocating && client.poll() == nil)
        }
        client.advance(to: stage.now + .seconds(10))
        #expect(client.state == .failed(code: 508))
    }
}
