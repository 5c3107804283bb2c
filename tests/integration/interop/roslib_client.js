// What a program sees that uses roslib's public API against a rosbridge; prints it as one JSON object.
// Usage: node roslib_client.js URL GUARD_URL

import { request } from "node:http";

import { Action, Param, Ros, Service, Topic } from "roslib";

const [url, guard] = process.argv.slice(2);
const PATIENCE_MS = 20000;
const CHAT = "/interop/roslib";

const within = (promise, what) => {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came: ${what}`)), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

/** A function with callbacks (ok, failed) as a promise. */
const ask = (start, what) => within(new Promise((resolve, reject) => start(resolve, (text) => reject(new Error(text)))), what);

const resetGuard = () =>
  ask((ok, failed) => {
    request(`${guard}/reset`, { method: "POST" }, (answer) => answer.resume().on("end", ok)).on("error", failed).end();
  }, "the guard's answer");

class Inbox {
  constructor(ros, name, messageType, options = {}) {
    this.messages = [];
    this.readers = [];
    this.topic = new Topic({ ros, name, messageType, ...options });
    this.topic.subscribe((message) => {
      const reader = this.readers.shift();
      reader ? reader(message) : this.messages.push(message);
    });
  }

  next() {
    if (this.messages.length) return Promise.resolve(this.messages.shift());
    return within(new Promise((resolve) => this.readers.push(resolve)), `a message on ${this.topic.name}`);
  }

  close() {
    this.topic.unsubscribe();
  }
}

const first = async (ros, name, messageType, options) => {
  const inbox = new Inbox(ros, name, messageType, options);
  const message = await inbox.next();
  inbox.close();
  return message;
};

/** The response, or the text of the refusal. */
const call = (ros, name, serviceType, request = {}) => {
  const service = new Service({ ros, name, serviceType });
  return within(new Promise((resolve) => service.callService(request, resolve, resolve)), name);
};

/** How a goal ended and whether feedback came; `cancel` gets the action and the goal's id at the first feedback. */
const goal = (ros, name, actionType, args, cancel) =>
  within(
    new Promise((resolve) => {
      const action = new Action({ ros, name, actionType });
      let feedback = null;
      const id = action.sendGoal(
        args,
        (values) => resolve({ way: "result", values, feedback }),
        (values) => {
          if (feedback === null && cancel) cancel(action, id);
          feedback ??= values;
        },
        (text) => resolve({ way: "error", text: String(text), feedback }),
      );
    }),
    name,
  );

const settle = (ros) => call(ros, "/rosapi/get_time", "rosapi/GetTime");

const graph = async (ros) => ({
  topics: (await ask((ok, no) => ros.getTopics(ok, no), "topics")).topics,
  odom_type: await ask((ok, no) => ros.getTopicType("/odom", ok, no), "type of /odom"),
  topics_of_type: await ask((ok, no) => ros.getTopicsForType("nav_msgs/msg/Odometry", ok, no), "topics of a type"),
  services: await ask((ok, no) => ros.getServices(ok, no), "services"),
  service_type: await ask((ok, no) => ros.getServiceType("/robot_guard/stop", ok, no), "type of a service"),
  services_of_type: await ask((ok, no) => ros.getServicesForType("std_srvs/srv/Trigger", ok, no), "services of a type"),
  nodes: await ask((ok, no) => ros.getNodes(ok, no), "nodes"),
  node: await ask((ok, no) => ros.getNodeDetails("/robot_guard", ok, no), "a node"),
  actions: await ask((ok, no) => ros.getActionServers(ok, no), "actions"),
  twist_fields: (await ask((ok, no) => ros.getMessageDetails("geometry_msgs/msg/Twist", ok, no), "Twist"))[0].fieldnames,
  trigger_response: (await ask((ok, no) => ros.getServiceResponseDetails("std_srvs/srv/Trigger", ok, no), "Trigger"))
    .typedefs[0].fieldnames,
  decoded_twist: ros.decodeTypeDefs(
    await ask((ok, no) => ros.getMessageDetails("geometry_msgs/msg/Twist", ok, no), "Twist"),
  ),
  odom_publishers: await ask(
    (ok, no) => new Topic({ ros, name: "/odom", messageType: "nav_msgs/Odometry" }).getPublishers(ok, no),
    "publishers",
  ),
});

const topics = async (ros, other) => {
  const messageType = "std_msgs/String";
  const odometry = await first(ros, "/odom", "nav_msgs/Odometry");
  const writer = new Topic({ ros: other, name: `${CHAT}/chat`, messageType });
  writer.advertise();
  const inbox = new Inbox(ros, `${CHAT}/chat`, messageType);
  await settle(ros);
  for (const data of ["one", "two", "drei äöü"]) writer.publish({ data });
  const heard = [];
  for (let i = 0; i < 3; i += 1) heard.push((await inbox.next()).data);
  inbox.close();
  await settle(ros);
  writer.publish({ data: "nobody listens" });
  await settle(other);
  await settle(ros);
  const after = inbox.messages.length;
  writer.unadvertise();
  await settle(other);
  const listed = (await ask((ok, no) => ros.getTopics(ok, no), "topics")).topics;
  return {
    odom_frame: odometry.header.frame_id,
    relative: (await first(ros, "odom", "nav_msgs/Odometry")).header.frame_id,
    heard,
    after_unsubscribe: after,
    listed_after_unadvertise: listed.includes(`${CHAT}/chat`),
  };
};

const latched = async (ros, other) => {
  const fixed = await first(ros, "/tf_static_merged", "tf2_msgs/TFMessage");
  const writer = new Topic({ ros: other, name: `${CHAT}/latched`, messageType: "std_msgs/String", latch: true });
  writer.publish({ data: "kept" });
  await settle(other);
  return {
    static_frames: fixed.transforms.map((item) => item.child_frame_id),
    late: (await first(ros, `${CHAT}/latched`, "std_msgs/String")).data,
    guard: (await first(ros, "/robot_guard/state", "diagnostic_msgs/DiagnosticStatus")).name,
  };
};

const services = async (ros) => ({
  state: (await call(ros, "/bt_navigator/get_state", "lifecycle_msgs/GetState")).current_state.label,
  unknown: await call(ros, "/nope", "std_srvs/Trigger"),
  bad_field: await call(ros, "/robot_guard/stop", "std_srvs/Trigger", { bad: 1 }),
  time: (await settle(ros)).time,
});

/** A service that this program offers and another connection calls. */
const offered = async (ros, other) => {
  const [name, serviceType] = [`${CHAT}/switch`, "std_srvs/SetBool"];
  const asked = [];
  const service = new Service({ ros, name, serviceType });
  await service.advertise((request, response) => {
    asked.push(request);
    response.success = true;
    response.message = "switched äöü";
    return true;
  });
  await settle(ros);
  const answer = await call(other, name, serviceType, { data: true });
  await service.unadvertise();
  await settle(ros);
  return { asked, answer, gone: await call(other, name, serviceType, { data: true }) };
};

/** An action that this program serves and another connection sends goals to. */
const served = async (ros, other) => {
  const [name, actionType] = [`${CHAT}/wait`, "nav2_msgs/action/Wait"];
  const asked = [];
  const server = new Action({ ros, name, actionType });
  server.advertise(
    (request, id) => {
      asked.push(request.time.sec);
      server.sendFeedback(id, { time_left: { sec: 1, nanosec: 0 } });
      if (request.time.sec === 1) server.setSucceeded(id, { total_elapsed_time: { sec: 1, nanosec: 0 } });
      if (request.time.sec === 2) server.setFailed(id);
    },
    (id) => server.setCanceled(id, { total_elapsed_time: { sec: 3, nanosec: 0 } }),
  );
  await settle(ros);
  const send = (sec, cancel) => goal(other, name, actionType, { time: { sec, nanosec: 0 } }, cancel);
  const ends = {
    succeeded: await send(1),
    aborted: await send(2),
    canceled: await send(3, (action, id) => action.cancelGoal(id)),
  };
  server.unadvertise();
  await settle(ros);
  return { asked, ...ends, gone: await send(4) };
};

const parameters = async (ros) => {
  const name = "/move_group:use_sim_time";
  const parameter = new Param({ ros, name });
  const get = () => ask((ok, no) => parameter.get(ok, no), `get ${name}`);
  const set = (value) => ask((ok, no) => parameter.set(value, ok, no), `set ${name}`);
  const before = await get();
  await set(false);
  const changed = await get();
  await set(before);
  const own = await call(ros, "/move_group/get_parameters", "rcl_interfaces/GetParameters", { names: ["use_sim_time"] });
  const refused = await set("words").then((answer) => answer.successful, () => false);
  return {
    listed: (await ask((ok, no) => ros.getParams(ok, no), "parameters")).includes(name),
    before,
    changed,
    restored: await get(),
    refused,
    own: own.values[0].bool_value,
    deleted: (await call(ros, "rosapi/delete_param", "rosapi/DeleteParam", { name })).successful,
  };
};

const actions = async (ros) => {
  const [spin, wait] = ["nav2_msgs/action/Spin", "nav2_msgs/action/Wait"];
  const long = { time: { sec: 1000000, nanosec: 0 } };
  const drive = { target: { x: 1.0, y: 0.0, z: 0.0 }, speed: -0.2 };
  const stopped = (await call(ros, "/robot_guard/stop", "std_srvs/Trigger")).success;
  const rejected = await goal(ros, "/spin", spin, { target_yaw: 0.5 });
  await resetGuard();
  return {
    stopped,
    rejected,
    succeeded: await goal(ros, "/spin", spin, { target_yaw: 0.5 }),
    aborted: await goal(ros, "/drive_on_heading", "nav2_msgs/action/DriveOnHeading", drive),
    canceled: await goal(ros, "/wait", wait, long, (action, id) => action.cancelGoal(id)),
    all_canceled: await goal(ros, "/wait", wait, long, (action) => action.cancelAllGoals()),
    unknown: await goal(ros, "/fly", spin, {}),
  };
};

const bytes = (data) => (typeof data === "string" ? Buffer.from(data, "base64") : Buffer.from(data));

const images = async (ros) => {
  const name = "/front_camera/color/image_raw/compressed";
  const colour = await first(ros, name, "sensor_msgs/CompressedImage");
  const binary = await first(ros, name, "sensor_msgs/CompressedImage", { compression: "cbor" });
  const depth = await first(ros, "/front_camera/aligned_depth_to_color/image_raw", "sensor_msgs/Image");
  const packed = await first(ros, "/odom", "nav_msgs/Odometry", { compression: "png" });
  return {
    format: colour.format,
    frame: colour.header.frame_id,
    magic: bytes(colour.data).subarray(0, 3).toString("hex"),
    cbor: [binary.data.constructor.name, bytes(binary.data).subarray(0, 3).toString("hex")],
    png: packed.child_frame_id,
    depth: [depth.width, depth.height, depth.encoding, bytes(depth.data).length],
  };
};

const connect = async (url) => {
  const ros = new Ros();
  const open = new Promise((resolve, reject) => {
    ros.on("connection", resolve);
    ros.on("error", reject);
  });
  await ros.connect(url);
  await within(open, `a connection to ${url}`);
  return ros;
};

const [ros, other] = [await connect(url), await connect(url)];
const report = { connected: ros.isConnected };
const parts = { graph, topics, latched, services, offered, served, parameters, actions, images };
for (const [name, part] of Object.entries(parts)) {
  try {
    report[name] = await part(ros, other);
  } catch (error) {
    report[name] = { failed: String(error) };
  }
}
console.log(JSON.stringify(report));
other.close();
ros.close();
process.exit(0);
