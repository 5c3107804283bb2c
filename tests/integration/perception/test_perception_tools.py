async def test_x(eyes, studio):
    import time
    studio.reset(0)
    print(studio.position_in_base("red coke can"))
    for tool, a in (("detect_objects", {}),("detect_objects", {"camera":"both"}),("segment_objects",{"prompt":"coke can","camera":"front"}),("get_topdown_grasp_pose",{"object_name":"coke"}),("get_topdown_placing_pose",{"object_name":"counter","object_height_m":.12}),("get_topdown_placing_pose",{"object_name":"floor","object_height_m":.12}),("look",{})):
        t=time.time(); r=await eyes.call_full(tool,**a); print(tool,round(time.time()-t,3)); print(r.structured_content, len(r.content), [len(getattr(c,'data','') or '') for c in r.content])
