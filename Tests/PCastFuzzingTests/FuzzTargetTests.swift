import PCastFuzzing
import Testing

@Suite struct FuzzTargetTests {
    @Test("every example of a corpus is valid input", arguments: FuzzTarget.allCases)
    func corpusIsRead(target: FuzzTarget) async throws {
        #expect(!target.corpus.isEmpty)
        for (index, example) in target.corpus.enumerated() {
            #expect(try await target.run(example), "\(target), example \(index)")
        }
    }

    @Test("invariants hold for examples that are truncated at any byte", arguments: FuzzTarget.allCases)
    func truncated(target: FuzzTarget) async {
        for example in target.corpus {
            // Long texts are truncated at every seventh byte.
            for length in stride(from: 0, to: example.count, by: example.count > 1500 ? 7 : 1) {
                await holds(target, Array(example[..<length]))
            }
        }
    }

    @Test("invariants hold for mutated inputs", arguments: FuzzTarget.allCases)
    func mutated(target: FuzzTarget) async {
        var mutator = Mutator(corpus: target.corpus, seed: 0x5EED)
        var read = 0
        // Handshakes take longer.
        let count = [.dtls, .relayMedia, .callMedia].contains(target) ? 200 : 2000
        for _ in 0..<count where await holds(target, mutator.next()) { read += 1 }
        // Mutation is ineffective if it never passes the first parser, or always does.
        #expect((1..<count).contains(read), "\(target): \(read) inputs were read")
    }

    @Test("invariants hold for inputs that once broke a target", arguments: Crashers.all)
    func crashers(target: FuzzTarget, input: [UInt8]) async {
        await holds(target, input)
    }

    @discardableResult
    private func holds(_ target: FuzzTarget, _ input: [UInt8]) async -> Bool {
        do {
            return try await target.run(input)
        } catch {
            Issue.record("\(target): \(error) for \(input.map { String($0, radix: 16) }.joined(separator: " "))")
            return false
        }
    }
}
