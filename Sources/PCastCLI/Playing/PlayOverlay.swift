import Foundation
import PCastJSON
import PCastOverlay
import PCastPlayback
import PCastWeb

/// The overlay of `pcast play --overlay`.
struct PlayOverlay: Sendable {
    private let overlay: Overlay
    private let bridge: OverlayBridge

    /// Creates an overlay. `name` is the name of a program, or a folder with an `index.html`. `controls` are the
    /// built-in controls of the window or the terminal; nil without one. `timeline` is sent to its pages if it is not
    /// nil.
    ///
    /// - Throws: ``CommandFailure`` if the name is invalid.
    init(
        _ name: String, of player: Player, with controls: PlayerControls?, timeline: PlayTimeline?
    ) throws {
        let folder = try Self.folder(name)
        let program = folder.map { URL(fileURLWithPath: $0).standardizedFileURL.lastPathComponent } ?? name
        // The user opens and closes the page at any time.
        let configuration = OverlayCore.Configuration(fatal: nil, expectsPages: false)
        do throws(OverlayError) {
            overlay = try Overlay(
                program: program, player: PlayerOverlayPlugin(player, controls: controls), configuration: configuration)
        } catch {
            throw CommandFailure(.unusableArguments, "--overlay \(name): \(error.reason).")
        }
        if let timeline { overlay.use(timeline.plugin) }
        bridge = OverlayBridge([overlay], folder: folder)
    }

    /// Returns the folder; nil if `name` is the name of a program.
    ///
    /// - Throws: ``CommandFailure`` if the folder does not exist or has no page.
    static func folder(_ name: String) throws(CommandFailure) -> String? {
        guard Folder.exists(name) else {
            // Names of programs contain no slash.
            guard !name.contains("/") else {
                throw CommandFailure(
                    .unusableArguments, "--overlay “\(name)” is not a directory: give one with an index.html.")
            }
            return nil
        }
        guard FileManager.default.fileExists(atPath: "\(name)/index.html") else {
            throw CommandFailure(
                .unusableArguments, "--overlay “\(name)” has no index.html: add it, or give another directory.")
        }
        return name
    }

    /// Serves the overlay until the task is cancelled.
    ///
    /// - Throws: An error of the web server.
    func serve(_ console: Console) async throws {
        overlay.load()
        let messages = overlay.messages()
        try await withThrowingTaskGroup { group in
            group.addTask {
                try await bridge.run { port in
                    let (address, viewer) = (
                        bridge.address(of: overlay, port: port), bridge.viewerAddress(of: overlay, port: port)
                    )
                    console.event(
                        "overlay",
                        ["program": .string(overlay.program), "uri": .string(address), "viewer": .string(viewer)])
                    console.inform("The overlay is at \(address)")
                }
            }
            group.addTask {
                for await message in messages { report(message, console) }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func report(_ message: OverlayMessage, _ console: Console) {
        switch message {
        case .easeLiveReady: console.event("overlayReady")
        case .easeLiveError(let error):
            console.event(
                "overlayError",
                [
                    "level": .string("\(error.level)"), "component": .string("\(error.component)"),
                    "reason": .string(error.reason),
                ])
            console.warn("Error of the overlay: \(error.reason).")
        case .bridgeAppStatus(let status): console.event("overlayStatus", ["status": .string(status.rawValue)])
        case .bridgeMessage(let text): console.event("overlayMessage", ["message": .string(text)])
        default: break
        }
    }

    func end() { overlay.destroy() }
}
