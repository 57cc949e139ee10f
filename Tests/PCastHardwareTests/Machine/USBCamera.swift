import Foundation

/// A USB camera that can be connected and disconnected (`machine/uvcsim.c`).
final class USBCamera: Sendable {
    /// The name under `/dev/v4l/by-id`, which every camera of the same serial number has.
    let path: String
    private let program: MachineProgram

    /// Connects it, and waits for its node.
    init(serialNumber: String = "0001") throws {
        if !FileManager.default.fileExists(atPath: "/dev/gadget") {
            try FileManager.default.createDirectory(atPath: "/dev/gadget", withIntermediateDirectories: true)
            try Machine.run("modprobe", ["-a", "dummy_hcd", "gadgetfs"])
            try Machine.run("mount", ["-t", "gadgetfs", "none", "/dev/gadget"])
        }
        let path = "/dev/v4l/by-id/usb-PCast_Test_UVC_camera_\(serialNumber)-video-index0"
        self.path = path
        program = try MachineProgram("uvcsim", [serialNumber])
        try Machine.wait(for: path) { FileManager.default.fileExists(atPath: path) }
        try Machine.settle()
    }

    /// Disconnects it, and waits until its node is removed.
    func unplug() throws {
        program.end()
        let path = path
        try Machine.wait(for: "the end of \(path)") { !FileManager.default.fileExists(atPath: path) }
        try Machine.settle()
    }
}
