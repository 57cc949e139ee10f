import PCastCore
import PCastTestSupport
import PCastWebRTC
import Testing

@Suite struct ICECredentialsTests {
    @Test("a ufrag of 32 characters with + and / is accepted and verified")
    func longUfrag() {
        var network = ICENetwork()
        #expect(network.server.local.ufrag.count == 32)
        network.addServerCandidate()
        network.run(.milliseconds(100))
        #expect(network.client.state == .connected)
    }

    @Test("random credentials have the requested lengths and characters of the grammar, and differ")
    func random() {
        var generator = SeededGenerator(seed: 1)
        let first = ICECredentials.random(using: &generator)
        let second = ICECredentials.random(ufragLength: 32, using: &generator)
        #expect(first.ufrag.count == 8 && second.ufrag.count == 32 && first.password.count == 24)
        #expect(first.password != second.password && !second.ufrag.hasPrefix(first.ufrag))
        let isAllowed = { (character: Character) in
            character.isASCII && (character.isLetter || character.isNumber || "+/".contains(character))
        }
        #expect((first.ufrag + first.password + second.ufrag).allSatisfy(isAllowed))
    }

    @Test("credentials that are too short, too long, or contain a colon or a space are rejected")
    func refused() {
        let password = String(repeating: "p", count: 22)
        #expect(ICECredentials(ufrag: "abcd", password: password) != nil)
        #expect(ICECredentials(ufrag: "abc", password: password) == nil)
        #expect(ICECredentials(ufrag: "ab:d", password: password) == nil)
        #expect(ICECredentials(ufrag: "ab d", password: password) == nil)
        #expect(ICECredentials(ufrag: "abcd", password: String(password.dropLast())) == nil)
        #expect(ICECredentials(ufrag: String(repeating: "u", count: 257), password: password) == nil)
    }

    @Test("a password is in the output of neither print nor dump")
    func secrecy() {
        let network = ICENetwork()
        var dumped = ""
        dump(network.server, to: &dumped)
        dump(network.client, to: &dumped)
        dumped += "\(network.server) \(network.client) \(String(reflecting: network.client.local))"
        #expect(dumped.contains("cLnT"))
        #expect(!dumped.contains("password-"))
    }
}
