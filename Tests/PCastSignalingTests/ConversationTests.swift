import PCastCore
import PCastSignaling
import Testing

/// Both halves of the conversation, connected to each other.
@Suite struct ConversationTests {
    @Test("every request is answered exactly once, whatever is lost", arguments: 1...20 as ClosedRange<UInt64>)
    func oneAnswerPerRequest(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        var client = ClientSignalingMachine(form: seed % 2 == 0 ? .text : .binary)
        var server = ServerSignalingMachine(at: at(0))
        var asked: Set<SignalingRequestID> = []
        var answered: [SignalingRequestID] = []
        var open: [(SignalingRequestID, SignalingRequest)] = []
        client.handle(.connected, at: at(0))
        for step in 0..<2_000 {
            let now = at(Int64(step) * 50)
            switch Int.random(in: 0..<100, using: &generator) {
            case 0:
                client.handle(.disconnected, at: now)
                client.handle(.connected, at: now)
                server = ServerSignalingMachine(at: now)
                open = []
            case 1..<10: asked.insert(client.request(Samples.authenticate(), at: now))
            case 10..<40: asked.insert(client.request(Samples.setupStream(), at: now))
            case 40..<80 where !open.isEmpty:
                let (id, request) = open.remove(at: Int.random(in: open.indices, using: &generator))
                server.handle(.respond(id, request.response(.ok)), at: now)
            default: break
            }
            client.advance(to: now)
            server.advance(to: now)
            for output in client.pollAll() {
                switch output {
                case .send(let frame) where Int.random(in: 0..<20, using: &generator) > 0:
                    server.handle(.received(frame), at: now)
                case .answered(let id, _): answered.append(id)
                default: break
                }
            }
            for output in server.pollAll() {
                switch output {
                case .send(let frame) where Int.random(in: 0..<20, using: &generator) > 0:
                    client.handle(.received(frame), at: now)
                case .request(let id, let request): open.append((id, request))
                default: break
                }
            }
        }
        client.handle(.disconnected, at: at(1_000_000))
        for case .answered(let id, _) in client.pollAll() { answered.append(id) }
        #expect(answered.count == asked.count)
        #expect(Set(answered) == asked)
    }
}
