import Foundation

/// The Swift code in documents.
enum CodeSamples {
    /// Returns the lines without their indentation, and without empty ones.
    static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Returns the lines of each Swift block of a document.
    static func samples(_ text: String) -> [[String]] {
        text.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }.map { lines($0) }
    }

    /// Returns whether a file contains the lines of a sample without a gap.
    static func holds(_ file: [String], _ sample: [String]) -> Bool {
        file.indices.contains { file[$0...].starts(with: sample) }
    }
}
