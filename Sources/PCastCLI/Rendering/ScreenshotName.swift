import Foundation
import PCastCore

/// The file names of screenshots that the user takes with a key.
enum ScreenshotName {
    /// The maximum number of screenshots per second, which are numbered.
    private static let maximumPerSecond = 100

    /// Returns an unused name in the working directory that contains the UTC time.
    static func free(
        at time: WallTime, exists: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) }
    ) -> String {
        let digits = time.timestampText.prefix(19).filter { $0.isNumber || $0 == "T" }
        let names = (1...maximumPerSecond).map { $0 == 1 ? "pcast-\(digits).png" : "pcast-\(digits)-\($0).png" }
        return names.first { !exists($0) } ?? names[0]
    }
}
