import Foundation
import PCastMedia

/// What pictures are called that a person takes while watching.
enum ScreenshotName {
    /// Of several in one second, the later ones are numbered.
    private static let mostInASecond = 100

    /// A name after the moment, in UTC, in the working folder, that no file has yet.
    static func free(
        at time: WallTime, isTaken: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) }
    ) -> String {
        let digits = time.timestampText.prefix(19).filter { $0.isNumber || $0 == "T" }
        let names = (1...mostInASecond).map { $0 == 1 ? "pcast-\(digits).png" : "pcast-\(digits)-\($0).png" }
        return names.first { !isTaken($0) } ?? names[0]
    }
}
