import Glibc
import PCastCore

/// A screen of the desktop portal, as on a command line and in the identifiers of `PortalScreens.enumerate`: `portal` or
/// `portal:monitor` for a monitor, and `portal:window` for a window. The user chooses it in the desktop's dialog. With
/// `?pointer=hidden`, frames do not contain the pointer.
package struct PortalSpecification: Hashable, Sendable {
    /// The kind of area that is captured, by its name and its number in the portal's interface.
    package enum Area: String, Hashable, Sendable, CaseIterable {
        case monitor
        case window

        var bit: Int { self == .monitor ? 1 : 2 }
    }

    /// The kind of area.
    package var area: Area
    /// Whether the compositor draws the pointer.
    package var showsPointer: Bool

    /// Creates a specification.
    package init(area: Area = .monitor, showsPointer: Bool = true) {
        (self.area, self.showsPointer) = (area, showsPointer)
    }

    /// Parses a text. Returns nil if it does not begin with `portal`. Throws `DeviceError.unusable` if the rest is
    /// invalid.
    static func parse(_ text: String) throws(DeviceError) -> PortalSpecification? {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let words = parts[0].split(separator: ":", omittingEmptySubsequences: false)
        guard words[0] == "portal" else { return nil }
        guard words.count <= 2, let area = words.count == 1 ? .monitor : Area(rawValue: String(words[1])) else {
            throw .unusable(text, reason: "a screen of the desktop portal is portal:monitor or portal:window")
        }
        switch parts.count == 2 ? parts[1] : "pointer=embedded" {
        case "pointer=embedded": return PortalSpecification(area: area)
        case "pointer=hidden": return PortalSpecification(area: area, showsPointer: false)
        default: throw .unusable(text, reason: "the pointer is pointer=embedded or pointer=hidden")
        }
    }

    /// Returns the screen that `screen` names without an identifier: that of the portal in a Wayland session with a
    /// session bus, or nil for that of X11.
    static func standard(
        environment: (String) -> String? = { getenv($0).map { String(cString: $0) } },
        hasPortal: () -> Bool = { PortalScreens.isAvailable }
    ) -> PortalSpecification? {
        let isWayland = environment("WAYLAND_DISPLAY").map { !$0.isEmpty } ?? false
        return isWayland && hasPortal() ? PortalSpecification() : nil
    }
}

extension PortalSpecification: CustomStringConvertible {
    /// The text from which the same specification can be parsed.
    package var description: String { "portal:\(area.rawValue)" + (showsPointer ? "" : "?pointer=hidden") }
}

/// The tokens by which the portal restores the user's choice without a dialog. They are files of mode 0600 in
/// `$XDG_STATE_HOME/pcast` or `~/.local/state/pcast`. Without such a folder, no token is kept.
struct PortalTokens: Sendable {
    /// The most bytes of a token that is read.
    private static let maximumSize = 4_096

    private let folder: String?

    init(environment: (String) -> String? = { getenv($0).map { String(cString: $0) } }) {
        func absolute(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        folder = (absolute("XDG_STATE_HOME") ?? absolute("HOME").map { "\($0)/.local/state" }).map { "\($0)/pcast" }
    }

    /// Returns the token of an area; nil if there is none.
    subscript(area: PortalSpecification.Area) -> String? {
        guard let path = path(area) else { return nil }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.maximumSize)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0, count < Self.maximumSize else { return nil }
        let token = String(decoding: bytes[..<count], as: UTF8.self)
        return token.allSatisfy { $0.isASCII && !$0.isWhitespace } ? token : nil
    }

    /// Replaces the token of an area; removes it if it is nil. A token that cannot be written is not kept, and the next
    /// start shows the dialog.
    func keep(_ token: String?, for area: PortalSpecification.Area) {
        guard let path = path(area), let folder else { return }
        guard let token, !token.isEmpty, token.utf8.count < Self.maximumSize else {
            unlink(path)
            return
        }
        Self.makeFolder(folder)
        let draft = "\(path).\(getpid())"
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        let bytes = Array(token.utf8)
        let isWritten = write(descriptor, bytes, bytes.count) == bytes.count
        close(descriptor)
        if !isWritten || rename(draft, path) != 0 { unlink(draft) }
    }

    private func path(_ area: PortalSpecification.Area) -> String? {
        folder.map { "\($0)/portal-\(area.rawValue).token" }
    }

    private static func makeFolder(_ path: String) {
        guard mkdir(path, 0o700) != 0, errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex
        else { return }
        makeFolder(String(path[..<slash]))
        mkdir(path, 0o700)
    }
}
