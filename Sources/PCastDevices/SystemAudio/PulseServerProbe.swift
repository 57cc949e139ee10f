import Glibc

/// Determines whether a PulseAudio-compatible server (PulseAudio or PipeWire) may exist without calling libpulse,
/// because libpulse creates folders in the user's home when it searches for a server.
enum PulseServerProbe {
    /// The searched locations, for display.
    static let description = "the audio servers (PULSE_SERVER, or pulse/native in XDG_RUNTIME_DIR)"

    /// Returns whether a server may exist. `environment` returns a variable, `exists` whether a file exists, and `text`
    /// the content of a small file.
    static func mayHaveServer(
        environment: (String) -> String? = { getenv($0).map { String(cString: $0) } },
        exists: (String) -> Bool = { access($0, F_OK) == 0 }, text: (String) -> String? = SystemAttribute.read
    ) -> Bool {
        func variable(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
        if variable("PULSE_SERVER") != nil { return true }
        // The order is that of libpulse's own search.
        var sockets = ["/var/run/pulse/native"]
        if let folder = variable("PULSE_RUNTIME_PATH") { sockets.append("\(folder)/native") }
        if let folder = variable("XDG_RUNTIME_DIR") { sockets.append("\(folder)/pulse/native") }
        if let home = variable("HOME"), let machine = text("/etc/machine-id") ?? text("/var/lib/dbus/machine-id") {
            sockets += ["\(home)/.pulse", "\(home)/.config/pulse"].map { "\($0)/\(machine)-runtime/native" }
        }
        if sockets.contains(where: exists) { return true }
        var files = ["/etc/pulse/client.conf"]
        if let file = variable("PULSE_CLIENTCONFIG") { files.append(file) }
        if let home = variable("HOME") { files += ["\(home)/.pulse/client.conf", "\(home)/.config/pulse/client.conf"] }
        return files.contains { namesServer(text($0) ?? "") }
    }

    /// Returns whether a client configuration contains `default-server = …`.
    private static func namesServer(_ configuration: String) -> Bool {
        configuration.split(separator: "\n").contains { line in
            let parts = line.split(separator: "=", maxSplits: 1).map { $0.filter { !$0.isWhitespace } }
            return parts.count == 2 && parts[0] == "default-server" && !parts[1].isEmpty
        }
    }
}
