import Foundation
import PCastCore
import Synchronization

@testable import PCastDevices

/// The cameras of the virtual machine, and external changes to them.
enum CameraBench {
    static let small = Dimensions(width: 320, height: 180)
    static let large = Dimensions(width: 640, height: 360)

    /// Returns the cameras of a driver, in the order of their nodes.
    static func nodes(_ driver: String) -> [CameraNode] {
        CameraNode.survey().cameras.filter { $0.capability.driver == driver }.sorted { $0.path < $1.path }
    }

    static func node(_ driver: String, _ index: Int = 0) throws -> CameraNode {
        let nodes = nodes(driver)
        guard index < nodes.count else { throw Machine.Failure(description: "no camera \(index) of \(driver)") }
        return nodes[index]
    }

    static func capabilities(_ id: String) throws -> VideoCapabilities {
        guard let device = Cameras.enumerate().first(where: { $0.info.id == id }),
            case .video(let capabilities) = device.capabilities
        else { throw Machine.Failure(description: "no camera \(id)") }
        return capabilities
    }

    static func set(_ node: CameraNode, _ control: String, _ value: Int) throws {
        try Machine.run("v4l2-ctl", ["-d", node.path, "-c", "\(control)=\(value)"])
    }

    static func value(_ node: CameraNode, _ control: String) throws -> Int? {
        let text = try Machine.run("v4l2-ctl", ["-d", node.path, "-C", control])
        return text.split(separator: ":").last.flatMap {
            Int($0.trimmingCharacters(in: .whitespaces).prefix { $0.isNumber || $0 == "-" })
        }
    }

    /// Makes the driver camctl report something false.
    static func lie(_ word: String) throws {
        try word.write(toFile: "/sys/module/camctl/parameters/lie", atomically: false, encoding: .utf8)
    }

    /// Disconnects a camera of camctl; `plug(_:)` connects it again.
    static func unplug(_ number: Int) throws {
        try "camctl.\(number)".write(
            toFile: "/sys/bus/platform/drivers/camctl/unbind", atomically: false, encoding: .utf8)
    }

    static func plug(_ number: Int) throws {
        try "camctl.\(number)".write(
            toFile: "/sys/bus/platform/drivers/camctl/bind", atomically: false, encoding: .utf8)
        try Machine.settle()
    }

    static func configuration(
        _ encoding: CaptureEncoding, _ dimensions: Dimensions, _ rate: Int = 30
    ) -> VideoConfiguration {
        VideoConfiguration(
            encoding: encoding, dimensions: dimensions, frameRate: FrameRate(rate), flashMode: .alwaysOff)
    }

    /// Returns Y, U and V at a position of a frame.
    static func pixel(_ frame: VideoFrame, _ x: Int, _ y: Int) -> [Int] {
        [
            Int(frame.planeY[y * frame.strideY + x]), Int(frame.planeU[y / 2 * frame.strideUV + x / 2]),
            Int(frame.planeV[y / 2 * frame.strideUV + x / 2]),
        ]
    }

    static func differ(_ first: [Int], _ second: [Int], by limit: Int) -> Bool {
        zip(first, second).contains { abs($0 - $1) > limit }
    }
}

/// A counter for several threads.
final class Counter: Sendable {
    private let count = Mutex(0)

    func add() { count.withLock { $0 += 1 } }

    var value: Int { count.withLock { $0 } }
}
