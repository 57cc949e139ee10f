import Foundation
import PCastCore

/// The captions of a published stream.
enum CaptionsArgument: Sendable, Equatable {
    /// The cues of a file.
    case file(TimedText)
    /// The lines of standard input.
    case standardInput

    /// The maximum size of a file in bytes.
    private static let maximumSize = 16 << 20

    /// Reads a file; `-` is standard input, which is read later.
    ///
    /// - Throws: ``CommandFailure`` if the file cannot be read or parsed.
    init(file: String) throws(CommandFailure) {
        guard file != "-" else {
            self = .standardInput
            return
        }
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: file)) else {
            throw CommandFailure(.unusableArguments, "--captions: “\(file)” cannot be read.")
        }
        guard data.count <= Self.maximumSize else {
            throw CommandFailure(.unusableArguments, "--captions: “\(file)” has more than 16 MiB.")
        }
        do throws(TimedTextError) {
            self = .file(try TimedText(parsing: String(decoding: data, as: UTF8.self)))
        } catch {
            throw CommandFailure(.unusableArguments, "--captions: “\(file)”, \(error)")
        }
    }
}
