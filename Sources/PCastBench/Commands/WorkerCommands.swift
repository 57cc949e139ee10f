import ArgumentParser
import Foundation
import Glibc
import PCastCore
import PCastDevices
import PCastIO
import PCastJSON
import PCastTestSupport

/// `pcast-bench render-worker` is a process of `pcast-bench render` whose CPU time is measured.
struct RenderWorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "render-worker", abstract: "Play a file in a window; started by “render”.", shouldDisplay: false)

    @Option var file: String

    func run() async throws {
        StandardOutput.write(try await RenderRun(file: file).run().text + "\n")
    }
}

/// `pcast-bench codec-cost-worker` is a process of `pcast-bench codec-cost` whose instructions are counted.
struct CodecCostWorkerCommand: ParsableCommand {
    static let name = "codec-cost-worker"
    static let configuration = CommandConfiguration(
        commandName: name, abstract: "Forward in memory; started by “codec-cost”.",
        shouldDisplay: false)

    enum Kind: String, ExpressibleByArgument { case h264, av1 }

    @Option var codec: Kind
    @Option var viewers: Int
    @Option var milliseconds: Int

    func run() throws {
        let forwarding = try CodecForwarding(codec == .av1 ? .av1 : .h264, viewers: viewers)
        forwarding.measure(for: .milliseconds(Int64(milliseconds)))
    }
}

/// `pcast-bench capture-worker` is a process of `pcast-bench capture` whose CPU time is measured.
struct CaptureWorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture-worker", abstract: "Capture and encode; started by “capture”.", shouldDisplay: false)

    enum Kind: String, ExpressibleByArgument { case memory, camera, drawing }

    @Option var kind: Kind
    @Option var frames: String?
    @Option var camera: String?
    @Option var width: Int
    @Option var height: Int
    @Option var cameraWidth: Int?
    @Option var cameraHeight: Int?
    @Option var rate: Int
    @Option var bitrate: Int64
    @Option var seconds: Int

    func run() async throws {
        let dimensions = Dimensions(width: width, height: height)
        let count = seconds * rate
        let source: any VideoSource =
            switch kind {
            case .memory:
                try MemoryCamera(
                    path: frames ?? "",
                    captured: Dimensions(width: cameraWidth ?? width, height: cameraHeight ?? height),
                    dimensions: dimensions, frameRate: rate, count: count)
            case .camera:
                try VideoInput(
                    VideoRequest(
                        .camera(id: camera),
                        constraints: [
                            .width: [DeviceConstraint(.number(Double(width)), kind: .exact)],
                            .height: [DeviceConstraint(.number(Double(height)), kind: .exact)],
                            .frameRate: [DeviceConstraint(.number(Double(rate)), kind: .exact)],
                        ]))
            case .drawing: SyntheticVideoSource(dimensions: dimensions, frameRate: rate)
            }
        let run = CaptureRun(
            source: source, bitrate: .kilobits(bitrate), duration: .seconds(Int64(seconds)), encodes: kind != .drawing)
        StandardOutput.write(try await run.run().text + "\n")
    }
}

/// `pcast-bench bulk-worker` is one end of a TCP connection with unlimited data.
struct BulkWorkerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bulk-worker", abstract: "Send or receive data without a limit; started by “networks”.",
        shouldDisplay: false)

    @Option var listen: String?
    @Option var connect: String?
    @Flag var sends = false

    func run() throws {
        guard let address = (listen ?? connect).flatMap({ TransportAddress($0) }) else { throw ExitCode(2) }
        let socket = try ProxySocket(.stream)
        if listen != nil {
            try socket.bind(address)
            try socket.listen()
            while true {
                Self.wait(socket, POLLIN)
                if let accepted = socket.accept() { transfer(accepted) }
            }
        }
        // The other end may still be starting.
        var attempt: ProxySocket? = socket
        while true {
            let candidate = try attempt ?? ProxySocket(.stream)
            attempt = nil
            try candidate.connect(address)
            Self.wait(candidate, POLLOUT)
            if candidate.error == 0 { return transfer(candidate) }
            usleep(100_000)
        }
    }

    private func transfer(_ socket: ProxySocket) {
        var buffer = [UInt8](repeating: 0x5A, count: 65_536)
        while true {
            Self.wait(socket, sends ? POLLOUT : POLLIN)
            let count =
                sends
                ? send(socket.number, buffer, buffer.count, Int32(MSG_NOSIGNAL))
                : recv(socket.number, &buffer, buffer.count, 0)
            if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { return }
        }
    }

    private static func wait(_ socket: ProxySocket, _ event: Int32) {
        var descriptor = pollfd(fd: socket.number, events: Int16(event), revents: 0)
        poll(&descriptor, 1, -1)
    }
}
