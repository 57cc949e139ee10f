import Foundation
import PCastCodecs
import PCastIO

/// A voice of flite, a small speech synthesizer that combines recorded speech.
struct RealVoice {
    private static let program = "/usr/bin/flite"

    private static let text = """
        The harbour was quiet in the morning, and the boats lay on the water as if they had been painted there. A \
        man came down the steps with a basket, put it on the stones, and looked at the sky for a long while. It \
        would be warm, he said, and there would be wind in the afternoon. Then he took the oars. Nobody had told him \
        about the letter, which lay on the kitchen table next to the bread, and which would change all of their \
        plans for that summer. Could you please tell me when the next train to the mountains is leaving? That \
        depends on the weather, answered the woman behind the window, because the bridge is closed whenever the \
        river rises above the second mark.
        """

    let name: String

    /// Returns nil if flite is not installed.
    init?(_ name: String) {
        guard FileManager.default.isExecutableFile(atPath: Self.program) else { return nil }
        self.name = name
    }

    /// Returns samples at 48 kHz with a root mean square of `level`.
    func speak(seconds: Double, level: Double = 3_000) throws -> [Double] {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).wav")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = try FinishedProcess(
            running: Self.program, ["-voice", name, "-t", Self.text, "-o", file.path], environment: [:])
        let speech = try Self.samples(ofWave: Data(contentsOf: file))
        let count = Int(seconds * 48_000)
        let line = (0..<count).map { speech[$0 % speech.count] }
        let scale = level / power(line).squareRoot()
        return line.map { $0 * scale }
    }

    /// Reads a mono file of 16 bits as flite writes it: a header of 44 bytes with the rate at byte 24.
    private static func samples(ofWave data: Data) throws -> [Double] {
        let bytes = [UInt8](data)
        let rate = Int(bytes[24]) | Int(bytes[25]) << 8
        var line = FractionalResampler(channels: 1, step: Double(rate) / 48_000)
        let samples = stride(from: 44, to: bytes.count - 1, by: 2).map {
            Float(Int16(bitPattern: UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8))
        }
        (samples + [Float](repeating: 0, count: 100)).withUnsafeBufferPointer { line.append($0) }
        var result = [Float](repeating: 0, count: samples.count * 48_000 / rate)
        result.withUnsafeMutableBufferPointer { line.read(from: 0, step: Double(rate) / 48_000, into: $0) }
        return result.map { Double($0) }
    }
}
