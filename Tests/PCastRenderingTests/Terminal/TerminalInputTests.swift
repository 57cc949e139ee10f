import PCastCore
import Testing

@testable import PCastRendering

@Suite("The input of a terminal")
struct TerminalInputTests {
    private func read(_ text: String) -> [TerminalInput.Item] {
        var input = TerminalInput()
        return input.take(Array(text.utf8))
    }

    @Test("keys are recognized in lower and upper case")
    func keys() {
        #expect(read("qM \r") == [.key(.character("q")), .key(.character("m")), .key(.character(" ")), .key(.enter)])
        #expect(read("\u{1B}[A\u{1B}[D\u{1B}OC") == [.key(.up), .key(.left), .key(.right)])
        #expect(read("\u{1B}") == [.key(.escape)])
    }

    @Test("answers report the capabilities, the size of a cell, and the end of the answers")
    func answers() {
        let kitty = "\u{1B}_Gi=31;OK\u{1B}\\\u{1B}[6;18;9t\u{1B}[?62;c"
        #expect(read(kitty) == [.graphics(true), .cell(Dimensions(width: 9, height: 18)), .attributes])
        #expect(read("\u{1B}_Gi=31;ENOTSUPPORTED:no\u{1B}\\\u{1B}[?1;2c") == [.graphics(false), .attributes])
        #expect(read("\u{1B}[6;0;9t\u{1B}[6;99999;9tq") == [.key(.character("q"))])
    }

    @Test("an answer in several parts is the same answer, wherever it is cut after its first byte")
    func pieces() {
        let bytes = Array("\u{1B}_Gi=31;OK\u{1B}\\".utf8)
        for cut in 2..<bytes.count {
            var input = TerminalInput()
            #expect(input.take(bytes[..<cut]) + input.take(bytes[cut...]) == [.graphics(true)])
        }
    }

    @Test("a click is a press of the left button, in xterm's mode 1006 and in the older form")
    func clicks() {
        var input = TerminalInput()
        #expect(input.take(Array("\u{1B}[<0;12;3M\u{1B}[<0;12;3m".utf8)) == [.click])
        // The events are: with Shift held; the right button; the wheel; motion.
        #expect(input.take(Array("\u{1B}[<4;1;1M\u{1B}[<2;1;1M\u{1B}[<64;1;1M\u{1B}[<32;1;1M".utf8)) == [.click])
        #expect(input.take(Array("\u{1B}[M q!".utf8)) == [.click])
        #expect(input.take(Array("\u{1B}[M#q!q".utf8)) == [.key(.character("q"))])
        #expect(input.take(Array("\u{1B}[M ".utf8)) == [])
        #expect(input.take(Array("qq".utf8)) == [.click])
    }

    @Test("a sequence without an end is dropped")
    func endless() {
        var input = TerminalInput()
        _ = input.take(Array("\u{1B}_".utf8) + [UInt8](repeating: 0x41, count: 2_000))
        #expect(input.take(Array("q".utf8)) == [.key(.character("q"))])
    }

    @Test("random input causes no failure and needs little memory", arguments: UInt64(1)...20)
    func noise(seed: UInt64) {
        var state = seed
        var input = TerminalInput()
        for _ in 0..<200 {
            let bytes = (0..<50).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1
                let value = UInt8(state >> 56)
                return value < 60 ? 0x1B : value
            }
            _ = input.take(bytes)
        }
    }

    @Test("a large write delays the next one by its permitted duration")
    func budget() {
        let start = Instant(nanoseconds: 1_000)
        var budget = ByteBudget(bytesPerSecond: 1_000)
        #expect(budget.earliest(at: start) == start)
        budget.wrote(500, at: start)
        #expect(budget.earliest(at: start) == start + .milliseconds(500))
        budget.wrote(250, at: start)
        #expect(budget.earliest(at: start) == start + .milliseconds(750))
        // A pause gives no credit.
        let later = start + .seconds(10)
        #expect(budget.earliest(at: later) == later)
    }
}
