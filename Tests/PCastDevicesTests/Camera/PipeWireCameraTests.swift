import CPipeWire
import PCastCodecs
import PCastCore
import Testing

@testable import PCastDevices

@Suite("Cameras of PipeWire")
struct PipeWireCameraTests {
    // MARK: Nodes

    private static let camera = [
        "media.class": "Video/Source", "media.role": "Camera", "node.name": "virtual", "node.description": "Studio",
    ]

    private static func camera(with properties: [String: String]) -> [String: String] {
        camera.merging(properties) { _, new in new }
    }

    @Test("a camera of a program is listed beside those of V4L2, and one of libcamera only without them")
    func cameras() {
        let libcamera = Self.camera(with: ["api.libcamera.path": "/base/soc/i2c/imx708"])
        for hasOthers in [false, true] {
            #expect(PipeWireCameras.isCamera(Self.camera, hasOthers: hasOthers))
            #expect(PipeWireCameras.isCamera(libcamera, hasOthers: hasOthers) == !hasOthers)
            let named = Self.camera(with: ["device.api": "libcamera"])
            #expect(PipeWireCameras.isCamera(named, hasOthers: hasOthers) == !hasOthers)
        }
    }

    @Test(
        "cameras of V4L2, captured screens and nodes without a name are not listed",
        arguments: [
            ["api.v4l2.path": "/dev/video0"], ["device.api": "v4l2"], ["media.role": "Screen"], ["media.role": ""],
            ["media.class": "Stream/Output/Video"], ["media.class": "Audio/Source"], ["node.name": ""],
        ])
    func others(_ properties: [String: String]) {
        #expect(!PipeWireCameras.isCamera(Self.camera(with: properties), hasOthers: false))
    }

    @Test("a camera has the name of its node as its identifier, and is hardware")
    func device() throws {
        let node = PipeWireRegistry.Node(properties: Self.camera, formats: [Self.read(Self.offer)])
        let device = try #require(PipeWireCameras.device(node))
        #expect(device.info.id == "pipewire:virtual" && device.info.name == "Studio")
        #expect(device.info.deviceType == .physical && device.info.mediaType == .video)
        #expect(PipeWireCameras.name(inID: device.info.id) == "virtual")
        #expect(PipeWireCameras.name(inID: "usb-046d_HD_Pro_Webcam") == nil)
        #expect(try SourceSpecification("camera:\(device.info.id)") == .camera(id: "pipewire:virtual"))
        // Nothing can be captured of a camera without formats.
        #expect(PipeWireCameras.device(PipeWireRegistry.Node(properties: Self.camera, formats: [])) == nil)
        let nameless = PipeWireRegistry.Node(
            properties: Self.camera(with: ["node.description": ""]), formats: node.formats)
        #expect(PipeWireCameras.device(nameless)?.info.name == "virtual")
    }

    @Test("a server is only asked where its socket exists, because libpipewire is loaded for that")
    func probe() {
        func mayHaveServer(_ environment: [String: String], _ sockets: Set<String>) -> Bool {
            PipeWireServerProbe.mayHaveServer(environment: { environment[$0] }, exists: { sockets.contains($0) })
        }
        #expect(!mayHaveServer([:], []))
        #expect(!mayHaveServer(["XDG_RUNTIME_DIR": "/run/user/1"], ["/run/user/2/pipewire-0"]))
        #expect(mayHaveServer(["XDG_RUNTIME_DIR": "/run/user/1"], ["/run/user/1/pipewire-0"]))
        #expect(mayHaveServer(["PIPEWIRE_RUNTIME_DIR": "/a", "XDG_RUNTIME_DIR": "/b"], ["/a/pipewire-0"]))
        #expect(mayHaveServer(["PIPEWIRE_REMOTE": "other", "XDG_RUNTIME_DIR": "/b"], ["/b/other"]))
        #expect(!mayHaveServer(["PIPEWIRE_REMOTE": "other", "XDG_RUNTIME_DIR": "/b"], ["/b/pipewire-0"]))
        #expect(mayHaveServer(["PIPEWIRE_REMOTE": "/c/socket"], ["/c/socket"]))
        #expect(mayHaveServer([:], ["/run/pipewire/pipewire-0"]))
    }

    // MARK: Formats

    /// Formats as a server lists them, with their choices.
    private static let offer = PipeWirePod(
        type: 0x40003, parameter: 3,
        [
            1: .id(2), 2: .id(1), 0x20001: .anyOf([.id(4), .id(23), .id(99)]),
            0x20003: .anyOf([.rectangle(640, 480), .rectangle(1_280, 720), .rectangle(641, 480), .rectangle(0, 0)]),
            0x20004: .anyOf([.fraction(15, 1), .fraction(30, 1), .fraction(0, 1), .fraction(1, 0)]),
        ])

    private static func read(_ pod: PipeWirePod) -> PipeWirePod {
        // The bytes are those of a valid object, so that nil is impossible.
        pod.words.withUnsafeBytes { PipeWirePod($0, keepsChoices: true)! }
    }

    private static func format(
        _ encoding: CaptureEncoding, _ width: Int, _ height: Int, _ rates: [FrameRate]
    ) -> CaptureFormat {
        CaptureFormat(
            encoding: encoding, sizes: .discrete(Dimensions(width: width, height: height)), rates: .discrete(rates))
    }

    @Test("choices are read as lists or as their preferred value")
    func choices() {
        let listed = Self.read(Self.offer)
        #expect(listed.properties[0x20001] == .anyOf([.id(4), .id(23), .id(99)]))
        let preferred = Self.offer.words.withUnsafeBytes { PipeWirePod($0) }
        #expect(preferred?.properties[0x20001] == .id(4))
        #expect(preferred?.properties[0x20003] == .rectangle(640, 480))
    }

    @Test("each encoding and size is listed with its rates, and those that cannot be captured are left out")
    func listed() {
        let rates = [FrameRate(30), FrameRate(15)]
        #expect(
            PipeWireCameraFormats.list([Self.read(Self.offer)]) == [
                Self.format(.yuyv, 640, 480, rates), Self.format(.yuyv, 1_280, 720, rates),
                Self.format(.nv12, 640, 480, rates), Self.format(.nv12, 1_280, 720, rates),
            ])
        let jpeg = PipeWirePod(
            type: 0x40003, parameter: 3,
            [1: .id(2), 2: .id(0x20002), 0x20003: .rectangle(1_920, 1_080), 0x20004: .fraction(30, 1)])
        #expect(PipeWireCameraFormats.list([Self.read(jpeg)]) == [Self.format(.mjpeg, 1_920, 1_080, [FrameRate(30)])])
        let audio = PipeWirePod(type: 0x40003, parameter: 3, [1: .id(1), 2: .id(1)])
        #expect(PipeWireCameraFormats.list([Self.read(audio)]).isEmpty)
    }

    @Test("a range of sizes and rates is listed as one, with even sides")
    func ranges() {
        let pod = PipeWirePod(
            type: 0x40003, parameter: 3,
            [
                1: .id(2), 2: .id(1), 0x20001: .id(2),
                0x20003: .range(.rectangle(640, 480), .rectangle(33, 1), .rectangle(4_097, UInt32.max)),
                0x20004: .range(.fraction(30, 1), .fraction(0, 1), .fraction(60, 1)),
            ])
        let expected = CaptureFormat(
            encoding: .i420,
            sizes: .stepwise(
                smallest: Dimensions(width: 34, height: 2), largest: Dimensions(width: 4_096, height: 16_384),
                step: Dimensions(width: 2, height: 2)),
            rates: .range(slowest: FrameRate(1), fastest: FrameRate(60), isContinuous: true))
        #expect(PipeWireCameraFormats.list([Self.read(pod)]) == [expected])
    }

    @Test("the number of formats is limited")
    func limit() {
        let pods = (1...2_000).map { index in
            PipeWirePod(
                type: 0x40003, parameter: 3,
                [1: .id(2), 2: .id(1), 0x20001: .id(4), 0x20003: .rectangle(UInt32(index) * 2, 480)])
        }
        #expect(PipeWireCameraFormats.list(pods).count == PipeWireCameraFormats.maximum)
    }

    @Test("the requested format is the configured one, and the cheapest encoding without one")
    func requested() throws {
        let formats = PipeWireCameraFormats.list([Self.read(Self.offer)])
        var configuration = VideoConfiguration(
            encoding: .yuyv, dimensions: Dimensions(width: 1_280, height: 720), frameRate: FrameRate(15))
        let exact = try #require(PipeWireCameraFormats.offer(configuration, of: formats))
        #expect(exact.properties[0x20001] == .id(4) && exact.properties[0x20003] == .rectangle(1_280, 720))
        #expect(exact.properties[0x20004] == .fraction(15, 1))
        // A rate that is not listed is not required.
        configuration.frameRate = FrameRate(25)
        let other = try #require(PipeWireCameraFormats.offer(configuration, of: formats))
        #expect(other.properties[0x20004] == .range(.fraction(25, 1), .fraction(0, 1), .fraction(1_000, 1)))
        configuration.encoding = .computed
        #expect(PipeWireCameraFormats.offer(configuration, of: formats)?.properties[0x20001] == .id(23))
        configuration.encoding = .mjpeg
        #expect(PipeWireCameraFormats.offer(configuration, of: formats)?.properties[2] == .id(0x20002))
        configuration.encoding = .h264
        #expect(PipeWireCameraFormats.offer(configuration, of: formats) == nil)
    }

    @Test("each accepted layout of pixels has an encoding that can be captured, and is requested by it")
    func layouts() throws {
        for (id, pixels) in PipeWireVideoFormat.accepted {
            let encoding = PipeWireCameraFormats.encoding(of: pixels)
            #expect(encoding.isCapturable, "\(pixels)")
            let offer = try #require(
                PipeWireCameraFormats.offer(VideoConfiguration(encoding: encoding), of: []), "\(pixels)")
            #expect(offer.properties[0x20001] == .id(id), "\(pixels)")
        }
    }

    @Test("frames with subsampled chroma are not cropped, and JPEG images have no rows")
    func area() throws {
        let size = Dimensions(width: 640, height: 480)
        let crop = cpw_crop(left: 10, top: 10, width: 20, height: 20)
        let area = try #require(
            PipeWireFrameArea(PipeWireVideoFormat(pixels: .yuyv, dimensions: size), stride: 0, crop: crop))
        #expect(area.offset == 0 && area.stride == 1_280 && area.dimensions == size)
        #expect(PipeWireFrameArea(PipeWireVideoFormat(pixels: nil, dimensions: size), stride: 0, crop: nil) == nil)
    }
}
