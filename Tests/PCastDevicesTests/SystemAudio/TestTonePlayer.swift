import Foundation

/// A program that plays a tone on a test's audio server, at the rate at which the server consumes it.
final class TestTonePlayer: Sendable {
    private let program: TestProgram

    /// Plays a tone through a program. `input` is written for the program, and closed when it has ended.
    init(frequency: Double, program: TestProgram, input: Int32) {
        self.program = program
        // A second has a whole number of periods, and is played repeatedly.
        let second = (0..<48_000).flatMap { index -> [Int16] in
            let value = Int16(16_384 * sin(2 * .pi * frequency * Double(index) / 48_000))
            return [value, value]
        }
        Thread.detachNewThread {
            // Writing fails when the program has ended. SIGPIPE must not end this process.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            second.withUnsafeBytes { bytes in
                var offset = 0
                while true {
                    let count = write(input, bytes.baseAddress! + offset, bytes.count - offset)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { break }
                    offset = (offset + count) % bytes.count
                }
            }
            close(input)
        }
    }

    /// Ends the player. A second call has no effect.
    func end() { program.end() }
}
